package outcome

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	tookTooLong = "The run took longer than its timeout"
	podsGone    = "Its pods are gone, and their logs with them; a restartPolicy of Never keeps them."
)

func failed(j *batchv1.Job, end *batchv1.JobCondition, pods []corev1.Pod) State {
	if end.Reason == batchv1.JobReasonDeadlineExceeded {
		return State{Condition: v1alpha1.TimedOut(tookTooLong + timeout(j) + " and was stopped."), podUnknown: true}
	}
	if p := failedPod(pods); p != nil {
		s := podFailed(j, p)
		if s.Condition.Reason == v1alpha1.ReasonFailed {
			s.Condition.Message = shards(j, pods) + s.Condition.Message
		}
		s.Interrupted = s.Condition.Reason == v1alpha1.ReasonError && !slices.ContainsFunc(pods, failedByItself) && endingOf(p).stoppedByCluster()
		return s
	}
	if name := endedBadlyIn(pods); name != "" {
		return State{Condition: v1alpha1.Error(gaveUp(name))}
	}
	if s, stopped := stoppedSuccess(pods); stopped { // the Job counted it as failed, because it was being deleted
		return s
	}
	return failedWithoutPod(j, end)
}

func timeout(j *batchv1.Job) string {
	if limit := job.TimeLimit(j); limit > 0 {
		return " of " + plaintext.Duration(limit)
	}
	return ""
}

// failedWithoutPod has only the Job's message. Kubernetes deletes the pod of a failed Job if containers restart in place; after any other
// deletion, it is unknown whether the tests failed.
func failedWithoutPod(j *batchv1.Job, end *batchv1.JobCondition) State {
	message := strings.TrimRight(plaintext.Line(cmp.Or(end.Message, end.Reason), maxQuote), ".")
	if end.Reason == batchv1.JobReasonPodFailurePolicy && strings.Contains(end.Message, "Container "+job.ReadyContainer+" ") {
		return noResult(fmt.Sprintf("The right version did not answer, and the pod that says more is gone: %s.", message))
	}
	if job.RunsElsewhere(j) {
		return State{Condition: v1alpha1.Failed(message + ". " + failedThere), podUnknown: true}
	}
	if end.Reason == batchv1.JobReasonPodFailurePolicy || j.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		return State{Condition: v1alpha1.Failed(message + ". " + podsGone), podUnknown: true}
	}
	s := noResult("The pod was deleted before its end was seen: by hand, by a drain, or with its node.")
	s.Interrupted = true
	return s
}

// failedPod returns the last pod that failed by itself: the others were deleted because the Job had failed.
func failedPod(pods []corev1.Pod) *corev1.Pod {
	candidates := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return !hasFailed(&p) })
	if len(candidates) == 0 {
		return nil
	}
	if kept := slices.DeleteFunc(slices.Clone(candidates), func(p corev1.Pod) bool { return p.DeletionTimestamp != nil }); len(kept) > 0 {
		candidates = kept
	}
	last := slices.MaxFunc(candidates, func(a, b corev1.Pod) int {
		return cmp.Or(finishedAt(&a).Compare(finishedAt(&b)), byCreation(a, b))
	})
	return &last
}

func finishedAt(p *corev1.Pod) time.Time {
	var last time.Time
	for _, cs := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := termination(p, cs); t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}

func podFailed(j *batchv1.Job, p *corev1.Pod) State {
	cs := failedContainer(p)
	e := endingOf(p)
	switch {
	case e.cause == causeTimeLimit:
		return State{Condition: v1alpha1.TimedOut(podDeadline(j, p))}
	case e.cause == causeDiskLimit:
		return State{Condition: v1alpha1.Failed(tooMuchStorage(p))}
	case e.cause == causeCluster && e.container == "":
		return noResult(fmt.Sprintf("The cluster stopped the pod before its tests ended: %s.", e.why))
	case e.cause == causeDeletion:
		return noResult("The pod was deleted before its tests ended.")
	case e.cause == causeSignal:
		return noResult(stoppedMessage(p, e))
	case cs == nil && failedInjected(p) != "":
		return noResult(fmt.Sprintf("The %s, which is not in the jobTemplate, failed.", failedInjected(p)))
	case cs == nil:
		return State{Condition: v1alpha1.Error(fmt.Sprintf("The pod failed, and does not say why: kubectl describe pod -n %s %s", p.Namespace,
			p.Name))}
	default:
		return containerFailed(j, p, cs.Name, termination(p, *cs))
	}
}

func tooMuchStorage(p *corev1.Pod) string {
	said := strings.TrimSpace(plaintext.Line(p.Status.Message, maxQuote))
	if strings.Contains(said, strconv.Quote(job.ResultsVolume)) {
		return fmt.Sprintf("The pod was stopped because its tests wrote too much into the results directory. %s Write less, or raise "+
			"spec.results.sizeLimit of the Trigger.", said)
	}
	return fmt.Sprintf("The pod was stopped because it needed more disk than its limit. %s Raise that limit in the jobTemplate of the "+
		"Trigger.", said)
}

// podDeadline is for a pod stopped by its template's deadline, or at the run's timeout while the manager was unavailable.
func podDeadline(j *batchv1.Job, p *corev1.Pod) string {
	own := p.Spec.ActiveDeadlineSeconds
	if limit := job.TimeLimit(j); own != nil && limit > 0 && *own >= *job.DeadlineSeconds(limit) {
		return tookTooLong + timeout(j) + " and was stopped."
	}
	return "The pod took longer than the activeDeadlineSeconds of its own in the jobTemplate, and was stopped."
}

// In bytes. A condition is shown in tables, in checks and in lists of thousands of Suites; the whole text is in the log.
const (
	maxQuote   = 1024 // from a container or Kubernetes
	maxSummary = 256  // from a run that passed
	maxName    = 256  // a name that was not validated
)

func quoted(text, otherwise string) string {
	if text = plaintext.Line(text, maxQuote); text != "" {
		return ": " + text
	}
	return otherwise
}

const logCommand = "postflight runs logs"

// logCommands print the log of a run. The command postflight also works with a key of the team, and after the pods are gone.
func logCommands(j *batchv1.Job, target, options string) string {
	ours := fmt.Sprintf(logCommand+" %s -n %s", j.Name, j.Namespace)
	return fmt.Sprintf("%s %s, or kubectl logs -n %s %s %[2]s", ours, options, j.Namespace, target)
}

// WithoutLogCommands returns the message of a run without the sentence that has its logCommands, for a page that shows the log.
func WithoutLogCommands(message, run string) string {
	before, _, found := strings.Cut(message, strings.Join([]string{":", logCommand, run, ""}, " "))
	if !found {
		return message
	}
	return before[:strings.LastIndex(before, ". ")+1]
}
