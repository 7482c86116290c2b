// Package outcome reads what became of a run: Observe derives its state from the status of its Job, which package job made, and from its
// pods.
package outcome

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// State is the state of a run, as its Job and pods show it.
type State struct {
	Condition     metav1.Condition   // the Succeeded condition of the run
	Advice        string             // a sentence after its message: what to do, unless another run follows by itself; "": the message says it
	DecidedBy     v1alpha1.DecidedBy // "" unless the run passed or failed
	Judged        bool               // the containers exited with 0, and reports decide against the run
	PodProblem    string             // why a pod cannot start, or how its container exited before a restart, or ""
	StartingSince time.Time          // zero: the tests have started
	HopelessSince time.Time          // since when the pod waits for a person; zero: it may start by itself
	Started       time.Time          // when the first container of the tests did, or zero
	NotBegun      bool               // no container of the tests has run, and the Job has not ended
	TestsEnded    time.Time          // in pods whose sidecars are stopping; zero: tests run, or all pods have ended
	Collected     *results.Collected // nil: the run keeps no results, or its tests have not begun
	Interrupted   bool               // the run ended as Error, because of what the cluster did
	HeldOpen      bool               // the tests of all pods have ended, and only containers that are not in the jobTemplate run on
	Killed        string             // a sentence: what was killed for its memory in containers that exited with 0, or ""
	Unpulled      bool               // PodProblem is an image that could not be pulled, although its registry may have it
	podUnknown    bool               // the message describes no pod, so an earlier problem still counts
}

// noResult is the state of a run without a result, which another run may have.
func noResult(cause string) State {
	return State{Condition: v1alpha1.Error(cause), Advice: results.RerunAdvice}
}

// WithAdvice returns a condition whose message ends with an advice, as it is written.
func WithAdvice(c metav1.Condition, advice string) metav1.Condition {
	if advice != "" {
		c.Message += " " + advice
	}
	return c
}

// Observe derives the state of a run from its Job and pods. It ends with the Job's final conditions, which come once all pods have stopped.
func Observe(j *batchv1.Job, pods []corev1.Pod) State {
	var s State
	c := collected(j, pods)
	final := end(j)
	switch {
	case final == nil:
		s = unfinished(j, pods)
	case final.Type == batchv1.JobComplete:
		s = completed(j, pods, c)
	case onlyInjectedFailed(j, final, pods):
		s = completed(j, pods, c)
		s.Condition.Message += ignored(pods)
	default:
		s = failed(j, final, pods)
		if s.Condition.Reason == v1alpha1.ReasonFailed {
			s.DecidedBy = v1alpha1.DecidedByExitCode
		}
		s = excuse(s, j, final, pods, c)
	}
	if s.Condition.Reason == v1alpha1.ReasonFailed {
		s.Condition.Message = countsAgain(j, c) + s.Condition.Message
	}
	withOnlyTests(s, j, pods, c)
	s.Started, s.TestsEnded, s.Collected = started(pods), allTestsEnded(pods), c
	s.HeldOpen = !s.TestsEnded.IsZero() && anyHeldOpen(pods) != ""
	s.NotBegun = final == nil && !begun(j, pods)
	return s
}

func started(pods []corev1.Pod) time.Time {
	var first time.Time
	consider := func(at metav1.Time) {
		if !at.IsZero() && (first.IsZero() || at.Time.Before(first)) {
			first = at.Time
		}
	}
	for _, p := range pods {
		for _, cs := range testStatuses(&p) {
			if cs.State.Running != nil {
				consider(cs.State.Running.StartedAt)
			}
			for _, t := range []*corev1.ContainerStateTerminated{cs.State.Terminated, cs.LastTerminationState.Terminated} {
				if t != nil {
					consider(t.StartedAt)
				}
			}
		}
	}
	return first
}

// KeepProblem adds a recorded status.podProblem to a state that describes no pod. It never changes how the run ends.
func (s State) KeepProblem(recorded string) State {
	if s.podUnknown && s.PodProblem == "" && recorded != "" {
		s.PodProblem = recorded
		s.Condition.Message += " " + recorded
	}
	return s
}

// KeepRunning keeps a run Running if its recorded state is: a failed pod that is gone and was not counted leaves no trace, and a pod whose
// tests have ended is not ready any more. Without a problem, it also keeps what was said: the pod does not start.
func (s State) KeepRunning(recorded metav1.Condition) State {
	if recorded.Reason != v1alpha1.ReasonRunning || s.StartingSince.IsZero() {
		return s
	}
	if s.Condition.Reason == v1alpha1.ReasonStarting && s.PodProblem == "" {
		s.Condition.Message = recorded.Message
	}
	s.Condition.Reason, s.StartingSince = v1alpha1.ReasonRunning, time.Time{}
	return s
}

// CompletionTime is when the Job ended in any way, or nil.
func CompletionTime(j *batchv1.Job) *metav1.Time {
	final := end(j)
	switch {
	case final == nil:
		return nil
	case j.Status.CompletionTime != nil:
		return j.Status.CompletionTime
	default:
		return &final.LastTransitionTime
	}
}

func end(j *batchv1.Job) *batchv1.JobCondition {
	return cmp.Or(condition(j, batchv1.JobComplete), condition(j, batchv1.JobFailed))
}

func condition(j *batchv1.Job, t batchv1.JobConditionType) *batchv1.JobCondition {
	i := slices.IndexFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == t && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	return &j.Status.Conditions[i]
}

func byCreation(a, b corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}
