package outcome

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// cause is what ended a pod, or is about to.
type cause int

const (
	causeNone      cause = iota
	causeItself          // its containers ran to their end, whatever their exit codes
	causeTimeLimit       // its own, or that of the run
	causeDiskLimit       // of its own
	causeMemory          // the kernel killed a process of a container for its memory
	causeSignal          // a container was killed, and nothing says by whom
	causeCluster         // evicted, preempted, drained, shut down or refused by its node, or lost with it
	causeDeletion        // by hand, by a controller, or with its node
)

// ending answers what ended a pod, and which container shows it. Four decisions ask for it: whether exit code 0 counts, whether the cluster
// is to blame, so that a run is repeated, whether failed tests may run again on their own, and whether a Quarantine may excuse them.
type ending struct {
	cause     cause
	container string // "": the pod as a whole
	why       string // a clause in the words of Kubernetes; "" unless the cause is causeCluster
}

// stoppedByCluster reports whether the cluster, and not the tests or their configuration, ended a pod.
func (e ending) stoppedByCluster() bool {
	return e.cause == causeCluster || e.cause == causeDeletion || e.cause == causeSignal
}

// endingOf decides by the first that holds: what stopped the pod before its tests had ended, what killed a container, or the containers.
func endingOf(p *corev1.Pod) ending {
	cs := failedContainer(p)
	for _, s := range stops(p) {
		if !s.afterTests(p, cs) {
			return s.ending
		}
	}
	if cs == nil {
		cs = killedContainer(p)
	}
	switch {
	case cs == nil && ended(*p):
		return ending{cause: causeItself}
	case cs == nil:
		return ending{}
	}
	t := termination(p, *cs)
	switch {
	case t.Reason == lostWithNode:
		return ending{cause: causeCluster, container: cs.Name, why: fmt.Sprintf("the end of the %s was lost with its node", title(p, cs.Name))}
	case t.Reason == outOfMemoryReason:
		return ending{cause: causeMemory, container: cs.Name}
	case t.ExitCode == 0 && t.Signal != 0:
		return ending{cause: causeSignal, container: cs.Name}
	default:
		return ending{cause: causeItself, container: cs.Name}
	}
}

// stop is something that stops a pod.
type stop struct {
	ending
	at              time.Time // when it began; zero: unknown
	source          timeSource
	explainsFailure bool // a container that failed before it may have failed because of it
	confirmation    bool // at may be when the kubelet confirmed the end, and not when it was asked for
}

// timeSource is whose clock a time is from.
type timeSource int

const (
	nodeTime timeSource = iota // as those of containers
	apiServerTime
)

// clockSkew bounds how far the clocks of a node and of the API server are apart. If a pod may have been stopped, exit code 0 proves
// nothing.
const clockSkew = 10 * time.Second

// stops returns what stopped a pod, the most exact first.
func stops(p *corev1.Pod) (all []stop) {
	reason, c := p.Status.Reason, disrupted(p)
	switch {
	case reason == batchv1.JobReasonDeadlineExceeded:
		all = append(all, stop{ending: ending{cause: causeTimeLimit}, at: deadline(p)})
	case exceededStorage(p):
		all = append(all, stop{ending: ending{cause: causeDiskLimit}})
	case reason != "":
		all = append(all, stop{ending: ending{cause: causeCluster, why: disruption(p)}, explainsFailure: true})
	case c != nil:
		all = append(all, stop{ending: ending{cause: causeCluster, why: disruption(p)}, at: c.LastTransitionTime.Time, source: apiServerTime,
			explainsFailure: true})
	}
	if p.DeletionTimestamp != nil {
		confirmed := ptr.Deref(p.DeletionGracePeriodSeconds, 0) == 0
		all = append(all, stop{ending: ending{cause: causeDeletion}, at: deletionRequested(p), source: apiServerTime, confirmation: confirmed})
	}
	return all
}

// wasStopped reports whether something may have stopped a pod before its tests ended. Quarantines can turn a failed pod green, so only
// times of the pod's own node are trusted here: the clock of the API server may differ.
func wasStopped(p *corev1.Pod) bool {
	return slices.ContainsFunc(stops(p), func(s stop) bool { return s.source != nodeTime || !s.afterTests(p, failedContainer(p)) })
}

// afterTests reports whether the tests had ended before something stopped the pod. cs is the container that failed, or nil. If containers
// restart in place, the Job controller itself deletes the pod of a failed Job, so its deletion does not excuse the failure.
func (s stop) afterTests(p *corev1.Pod, cs *corev1.ContainerStatus) bool {
	end := testsEnded(p)
	if cs != nil {
		end = termination(p, *cs).FinishedAt.Time
	}
	inPlace := cs != nil && p.Spec.RestartPolicy != corev1.RestartPolicyNever
	switch {
	case s.at.IsZero() || end.IsZero() || cs != nil && s.explainsFailure || cs == nil && s.confirmation:
		return false
	case s.confirmation && !inPlace:
		return finishedAt(p).Add(clockSkew).Before(s.at)
	case s.source == apiServerTime && cs == nil:
		return end.Add(clockSkew).Before(s.at)
	default:
		return end.Before(s.at)
	}
}

// deletionRequested is one grace period before the deletionTimestamp.
func deletionRequested(p *corev1.Pod) time.Time {
	return p.DeletionTimestamp.Add(-time.Duration(ptr.Deref(p.DeletionGracePeriodSeconds, 0)) * time.Second)
}

// deadline is when a pod was too late, or zero if it does not say.
func deadline(p *corev1.Pod) time.Time {
	if p.Status.StartTime == nil || p.Spec.ActiveDeadlineSeconds == nil {
		return time.Time{}
	}
	return p.Status.StartTime.Add(time.Duration(*p.Spec.ActiveDeadlineSeconds) * time.Second)
}

// disruption returns why the cluster stopped or refused a pod. The pod's status is more exact than its condition.
func disruption(p *corev1.Pod) string {
	c := cmp.Or(disrupted(p), &corev1.PodCondition{})
	reason := plaintext.Line(cmp.Or(p.Status.Reason, c.Reason), maxName)
	message := strings.TrimRight(plaintext.Line(cmp.Or(p.Status.Message, c.Message), maxQuote), ". ")
	if message == "" {
		return reason
	}
	return fmt.Sprintf("%s (%s)", message, reason)
}

func disrupted(p *corev1.Pod) *corev1.PodCondition {
	for i, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// evicted is the reason of a pod that a kubelet evicted.
const evicted = "Evicted"

// exceededStorage reports whether a pod was evicted by its own limit of disk space, and not to make room for others.
func exceededStorage(p *corev1.Pod) bool {
	return p.Status.Reason == evicted && disrupted(p) == nil && strings.Contains(p.Status.Message, "exceed")
}

// SetEvicted marks a pod as a kubelet does that evicts it. If a container exits with 0 at once, the kubelet may forget to
// (kubernetes/kubernetes#141483): then only its event says so.
func SetEvicted(p *corev1.Pod, message string) {
	if p.Status.Reason == "" && disrupted(p) == nil {
		p.Status.Reason, p.Status.Message = evicted, message
	}
}

// succeeded reports whether a pod has ended in which all containers of the jobTemplate exited with 0. An injected container may have
// failed, or was stopped because it did not end with them.
func succeeded(p *corev1.Pod) bool {
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		return true
	case corev1.PodFailed:
		cause := endingOf(p).cause
		return injected(p) != "" && !testsEnded(p).IsZero() && failedContainer(p) == nil && (cause == causeItself || cause == causeMemory)
	default:
		return false
	}
}

// hasFailed reports whether a pod has failed, or one of its containers has, so that it will.
func hasFailed(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodFailed {
		return !succeeded(p)
	}
	return p.Status.Phase != corev1.PodSucceeded && failedContainer(p) != nil
}

// failedContainer returns the first that failed: later failures may follow from it. Sidecars do not count, as in Kubernetes, and
// containers that are not in the jobTemplate do not either.
func failedContainer(p *corev1.Pod) *corev1.ContainerStatus {
	return firstContainer(p, func(cs corev1.ContainerStatus) bool {
		t := termination(p, cs)
		return t != nil && t.ExitCode != 0 && !isSidecar(p, cs.Name)
	})
}

// killedContainer returns the first in which something was killed, although it exited with 0.
func killedContainer(p *corev1.Pod) *corev1.ContainerStatus {
	return firstContainer(p, func(cs corev1.ContainerStatus) bool {
		t := cs.State.Terminated
		return t != nil && t.ExitCode == 0 && (t.Reason == outOfMemoryReason || t.Signal != 0) && !job.IsOwn(cs.Name)
	})
}

// firstContainer returns the container of the jobTemplate that ended first of those that fit.
func firstContainer(p *corev1.Pod, fits func(corev1.ContainerStatus) bool) *corev1.ContainerStatus {
	all := slices.DeleteFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), func(cs corev1.ContainerStatus) bool {
		return !fits(cs) || !job.InTemplate(&p.Spec, cs.Name)
	})
	if len(all) == 0 {
		return nil
	}
	first := slices.MinFunc(all, func(a, b corev1.ContainerStatus) int {
		return termination(p, a).FinishedAt.Compare(termination(p, b).FinishedAt.Time)
	})
	return &first
}

// termination is how a container ended. In a deleted pod that restarts containers, only the state before the last shows a failure.
func termination(p *corev1.Pod, cs corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	before, now := cs.LastTerminationState.Terminated, cs.State.Terminated
	if before != nil && (now == nil || now.ExitCode != 0 && p.DeletionTimestamp != nil) {
		return before
	}
	return now
}

// lostWithNode is the reason of a container of which the kubelet knows nothing any more, as after a restart of its node.
const lostWithNode = "ContainerStatusUnknown"

// outOfMemoryReason is the reason of a container of which the kernel killed a process for its memory.
const outOfMemoryReason = "OOMKilled"

// firstSignal is the exit code of a process that the first signal killed, as shells say it. Runners that find failed tests exit with less.
const firstSignal = 128

// ranOnceWithoutSignal reports whether a container was never restarted, and no signal ended it, as far as its exit code says.
func ranOnceWithoutSignal(cs corev1.ContainerStatus) bool {
	t := cs.State.Terminated
	return t != nil && cs.RestartCount == 0 && t.Signal == 0 && t.ExitCode < firstSignal && t.Reason != outOfMemoryReason
}
