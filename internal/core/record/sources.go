package record

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// IsPodOf reports whether a pod belongs to a run, whose Job may be gone. Older pods belong to an earlier Suite of the same name.
func IsPodOf(s *v1alpha1.Suite, p metav1.Object) bool {
	owner, created := metav1.GetControllerOf(p), p.GetCreationTimestamp()
	return p.GetNamespace() == s.Namespace && p.GetLabels()[v1alpha1.LabelSuite] == s.Name &&
		owner != nil && owner.Kind == "Job" && owner.Name == s.Name && !created.Before(&s.CreationTimestamp)
}

// Source is a log that should exist.
type Source struct {
	Pod, Node string
	Container string
	Previous  bool // from before Kubernetes restarted the container
	Running   bool // the container still writes
}

// Names reports whether the log belongs to the source.
func (l Log) Names(s Source) bool {
	return l.Pod == s.Pod && l.Container == s.Container && l.Previous == s.Previous
}

// Sources returns the logs of all containers that have run. Kubernetes keeps the last two logs of a container.
func Sources(pods []corev1.Pod) []Source {
	var all []Source
	for _, p := range pods {
		for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses,
			p.Status.EphemeralContainerStatuses} {
			for _, c := range statuses {
				all = append(all, sourcesOf(p, c)...)
			}
		}
	}
	return all
}

func sourcesOf(p corev1.Pod, c corev1.ContainerStatus) []Source {
	s := Source{Pod: p.Name, Node: p.Spec.NodeName, Container: c.Name, Running: c.State.Running != nil}
	before := c.LastTerminationState.Terminated != nil
	switch {
	case c.State.Running == nil && c.State.Terminated == nil && !before:
		return nil // it never ran
	case c.State.Running == nil && c.State.Terminated == nil:
		return []Source{s} // it waits to be restarted: its log is that from before
	case before && !lostTrack(p, c):
		previous := s
		previous.Previous, previous.Running = true, false
		return []Source{s, previous}
	default:
		return []Source{s}
	}
}

// lostTrack reports whether the kubelet lost the only container of a pod, for which it then reports an earlier termination.
func lostTrack(p corev1.Pod, c corev1.ContainerStatus) bool {
	once := p.Spec.RestartPolicy == corev1.RestartPolicyNever || p.Status.Reason == "Evicted"
	return once && c.LastTerminationState.Terminated.Reason == "ContainerStatusUnknown"
}

// Unreadable returns why a log cannot be read, as a sentence, and whether a later attempt may succeed.
func Unreadable(s Source, err error) (problem string, mayPass bool) {
	switch {
	case errors.Is(err, apierror.ErrNodeGone):
		return fmt.Sprintf("The node %s is gone, and the log with it.", s.Node), false
	case errors.Is(err, apierror.ErrLogGone):
		return "Kubernetes had removed the container or its pod before the log could be read.", false
	case errors.Is(err, apierror.ErrNodeUnreachable):
		return fmt.Sprintf("The node %s did not hand out the log.", s.Node), true
	case apierror.MissingRight(err):
		return "Postflight may not read logs: its role lacks the right to get pods/log.", true
	default:
		return "The API server did not hand out the log.", true
	}
}

// Ended holds what is known of the pods of a finished run.
type Ended struct {
	Pods int32 // as its Job counts them; 0 if that is unknown
	Ran  bool  // containers of the tests have run
}

// maxProblems bounds the logs that a message names; the record has all.
const maxProblems = 5

// Condition returns the condition of a run after everything that could be saved was saved.
func Condition(logs []Log, e Ended) metav1.Condition {
	var problems []string
	pods := map[string]bool{}
	for _, log := range logs {
		pods[log.Pod] = true
		if log.Problem != "" {
			problems = append(problems, fmt.Sprintf("Container %s of pod %s: %s", log.Container, log.Pod, log.Problem))
		}
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("So are %d more.", more))
	}
	missing := int(e.Pods) - len(pods)
	switch {
	case len(logs) == 0 && e.Ran:
		problems = append(problems, "All pods were gone before their logs could be read.")
	case len(logs) > 0 && missing > 0:
		problems = append(problems, fmt.Sprintf("%d of %d pods were gone before their logs could be read, if they had any.", missing, e.Pods))
	}
	if len(problems) == 0 {
		return v1alpha1.Saved()
	}
	return v1alpha1.Incomplete("The record is in the object store, but logs are lost. " + strings.Join(problems, " "))
}
