package suite

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	// StopCheckAfter is when to first check whether the pods of a Job have stopped: an event reports most before.
	StopCheckAfter = 10 * time.Second

	stopCheckMax   = 30 * time.Second // bounds the pauses between these checks
	unlabeledEvery = 15 * time.Second // how often to check a Job that no event reports
	orphanGrace    = time.Minute      // the longest common grace period of pods, which passes before they are given up
	hopelessAfter  = time.Minute      // how long a pod that cannot start keeps its run: the rest of a Git commit, such as a Secret, may follow

	// heldOpenFor is how long an injected container may run on after the tests: some notice that these have ended. It is longer than clocks
	// differ, so that nothing takes the pods for stopped.
	heldOpenFor = 15 * time.Second

	// The pauses between checks of a Job that has no ready pod yet: short at first, when most causes show.
	unreadyMin = time.Second
	unreadyMax = time.Minute

	stopGrace  = time.Minute     // added to the grace period of the pods of a Job, before the Job is deleted
	maxTimeout = 168 * time.Hour // the longest timeout that a Trigger may have
)

// stop ends a run once its Job and pods are gone, because a successor starts then. Either may disappear before the other.
func stop(o Observation, end metav1.Condition, now time.Time) Decision {
	switch {
	case o.Job != nil && Ended(o.State.Condition):
		return Decision{Condition: end} // Kubernetes ends a Job only after its pods
	case o.Job != nil && !o.Stopping.Done:
		return Decision{Action: stopAction(o, now), Condition: v1alpha1.Running(end.Message + " Stopping the pods of this run.")}
	case o.Stopping.PodsLeft:
		waited := now.Sub(since(o.Suite, v1alpha1.ConditionObjectsFound, now))
		if waited >= o.Stopping.GiveUp+orphanGrace {
			return Decision{Condition: v1alpha1.Error(fmt.Sprintf("%s Its Job is gone, and its pods still run, and nothing stops them. Stop them: kubectl delete pods -n %s -l %s=%s",
				end.Message, o.Suite.Namespace, v1alpha1.LabelSuite, o.Suite.Name))}
		}
		return Decision{
			Missing: fmt.Sprintf("Job %q", o.Suite.Name),
			Condition: v1alpha1.Running(fmt.Sprintf("%s Stopping the pods of this run: kubectl get pods -n %s -l %s=%s",
				end.Message, o.Suite.Namespace, v1alpha1.LabelSuite, o.Suite.Name)),
			RequeueAfter: min(max(waited/4, podsEvery), stopCheckMax),
		}
	default:
		return Decision{Condition: end}
	}
}

// stopAction keeps pods of tests that have begun, for their logs, unless they do not stop: other controllers may create pods again.
func stopAction(o Observation, now time.Time) Action {
	waited := now.Sub(o.Stopping.Requested)
	switch requested := !o.Stopping.Requested.IsZero(); {
	case o.Job.DeletionTimestamp != nil || o.Stopping.RequestedNow:
		return Report
	case beforeTests(o.State.Condition):
		return DeleteJob
	case !requested:
		return StopPods
	case waited >= o.Stopping.Grace+stopGrace:
		return DeleteJob
	case waited >= StopCheckAfter:
		return StopPods // there may be new ones
	default:
		return Report
	}
}

// endHeldOpen ends pods in which only injected containers run on, such as the proxy of a service mesh.
func endHeldOpen(o Observation, now time.Time) Decision {
	if wait := heldOpenFor - now.Sub(o.TestsEnded); wait > 0 {
		return Decision{Condition: o.State.Condition, RequeueAfter: min(wait, heldOpenFor)}
	}
	return Decision{Action: EndPods, Condition: o.State.Condition}
}

func beforeTests(progress metav1.Condition) bool {
	return progress.Reason == v1alpha1.ReasonStarting || progress.Reason == v1alpha1.ReasonQueued
}

// stopped reports whether a Job failed because its pods were stopped, so that its failure says nothing.
func stopped(o Observation) bool {
	return !o.Stopping.Requested.IsZero() && o.State.Condition.Reason != v1alpha1.ReasonPassed
}

// notStarted returns why a run whose tests have not started is stopped, or "". The condition outlasts the Job.
func notStarted(o Observation, now time.Time) string {
	if c := meta.FindStatusCondition(o.Suite.Status.Conditions, v1alpha1.ConditionStarted); c != nil {
		return c.Message
	}
	if o.Job == nil || o.StartingSince.IsZero() {
		return ""
	}
	if since := o.HopelessSince; !since.IsZero() && now.Sub(since) >= hopelessAfter {
		return o.PodProblem
	}
	if limit := startLimit(o); now.Sub(o.StartingSince) >= limit {
		return fmt.Sprintf("The tests did not start within %s, %s. %s", plaintext.Duration(limit), startLimits(o), o.State.Condition.Message)
	}
	return ""
}

// startLimits names what the limit is made of.
func startLimits(o Observation) string {
	if o.Trigger != nil && o.Trigger.Spec.Ready.ProbeLimit() > 0 {
		return "the startTimeout of the Trigger and the timeout of its ready"
	}
	return "the startTimeout of the Trigger"
}

// startLimit is that of the Job: its Trigger and its TriggerClass may change meanwhile.
func startLimit(o Observation) time.Duration {
	if o.StartLimit > 0 {
		return o.StartLimit
	}
	return o.Trigger.StartTimeout()
}

// stopNotStarted records the reason before it stops the run, which would otherwise end as one whose Job somebody deleted.
func stopNotStarted(o Observation, message string, now time.Time) Decision {
	d := stop(o, v1alpha1.Error(message), now)
	d.NotStarted, d.Interrupted = message, notStartedReason(o) == v1alpha1.ReasonImageNotPulled
	if !Ended(d.Condition) {
		d.Condition.Reason = v1alpha1.ReasonStarting // it never ran
	}
	if d.Action != Report && meta.FindStatusCondition(o.Suite.Status.Conditions, v1alpha1.ConditionStarted) == nil {
		d.Action, d.RequeueAfter = Report, time.Nanosecond
	}
	return d
}

// stopSuperseded first records the newer run. That write fails if this run was notified again: then it is the newer one, and must not stop.
func stopSuperseded(o Observation, by string, now time.Time) Decision {
	d := stop(o, v1alpha1.Superseded(fmt.Sprintf("Superseded by %s, a newer deployment of the same stream.%s", by, stuck(o))), now)
	d.SupersededBy = by
	if d.Action != Report && o.Suite.Status.SupersededBy == "" {
		d.Action, d.RequeueAfter = Report, time.Nanosecond
	}
	return d
}

// overdue does not count the time in which sidecars stop and results are uploaded.
func overdue(o Observation, now time.Time) bool {
	return TimeIsUp(o, now) && !endedInTime(o, now)
}

// TimeIsUp reports whether the tests of a run should have ended by now.
func TimeIsUp(o Observation, now time.Time) bool {
	at := startTime(o)
	return at != nil && now.Sub(at.Time) >= timeLimit(o)
}

// endedInTime reports whether only sidecars still run, which the kubelet stops after the grace period.
func endedInTime(o Observation, now time.Time) bool {
	end := o.TestsEnded
	return !end.IsZero() && end.Sub(startTime(o).Time) <= timeLimit(o) && now.Sub(end) < o.Stopping.Grace+stopGrace
}

func tookTooLong(o Observation) string {
	message := fmt.Sprintf("The run took longer than its timeout of %s and was stopped.", plaintext.Duration(timeLimit(o)))
	if o.PodProblem != "" {
		message += " " + o.PodProblem
	}
	return message
}

// startTime returns when the tests started, or nil. The recorded time may be later: when the Job said that its pod was ready.
func startTime(o Observation) *metav1.Time {
	recorded, started := o.Suite.Status.StartTime, notBeforeJob(o)
	switch {
	case !started.IsZero() && (recorded == nil || started.Before(recorded.Time)):
		return &metav1.Time{Time: started}
	case recorded != nil:
		return recorded
	case o.Job != nil && !o.NotBegun && !beforeTests(o.State.Condition):
		return o.Job.Status.StartTime
	default:
		return nil
	}
}

// notBeforeJob corrects the clock of a node, which must not end a run early.
func notBeforeJob(o Observation) time.Time {
	if o.Job != nil && !o.Started.IsZero() && o.Started.Before(o.Job.CreationTimestamp.Time) {
		return o.Job.CreationTimestamp.Time
	}
	return o.Started
}

// timeLimit prefers the Job's, because the Trigger may have changed since.
func timeLimit(o Observation) time.Duration {
	switch {
	case o.TimeLimit > 0:
		return min(o.TimeLimit, maxTimeout)
	case o.Trigger != nil:
		return o.Trigger.RunTimeout()
	default:
		return maxTimeout
	}
}

// jobPollInterval is for Jobs of which no event may come: stuck or late ones, and those that the cache does not have.
func jobPollInterval(o Observation, now time.Time) time.Duration {
	if o.Unlabeled {
		return unlabeledEvery
	}
	if since := o.Stopping.Since; !since.IsZero() {
		waited := now.Sub(since)
		return max(StopCheckAfter-waited, min(max(waited/4, time.Second), stopCheckMax))
	}
	if !o.StartingSince.IsZero() {
		return startPollInterval(o, now)
	}
	at := startTime(o)
	if at == nil {
		return 0
	}
	wait := max(at.Add(timeLimit(o)).Sub(now), time.Second)
	if o.Unready { // short tests may have ended without an event, and an injected container may hold the pod open
		return min(wait, unreadyInterval(o, now))
	}
	return wait
}

func startPollInterval(o Observation, now time.Time) time.Duration {
	next := o.StartingSince.Add(startLimit(o))
	if !o.HopelessSince.IsZero() {
		next = o.HopelessSince.Add(hopelessAfter)
	}
	wait := max(next.Sub(now), unreadyMin)
	if o.Unready {
		return min(wait, unreadyInterval(o, now))
	}
	return wait
}

func unreadyInterval(o Observation, now time.Time) time.Duration {
	return min(max(now.Sub(o.Job.CreationTimestamp.Time)/4, unreadyMin), unreadyMax)
}

// Sooner returns the shorter of two pauses; 0 means none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return min(a, b)
}
