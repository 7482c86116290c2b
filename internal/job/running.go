package job

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/plaintext"
)

const (
	// blockedPrefix starts what is said of a pod that cannot start until somebody acts.
	blockedPrefix = "The pod cannot start: "

	// lastExitPrefix starts what is said of a container that was restarted in place.
	lastExitPrefix = "It last exited with "

	// podStarting and podDeleted are said where a pod is not there to look at: not yet, or not any more,
	// and the Job does not say which.
	podStarting = "The pod is starting."
	podDeleted  = "The pod is being deleted."

	// didNotPass is all that is said of a run whose Job is about to fail.
	didNotPass = "The run did not pass; its pods are stopping."
)

// running says in words what a Job that has not ended is doing, or waiting for.
func running(j *batchv1.Job, pods []corev1.Pod) metav1.Condition {
	return v1alpha1.Running(doing(j, pods))
}

func doing(j *batchv1.Job, pods []corev1.Pod) string {
	failing := condition(j, batchv1.JobFailureTarget)
	switch {
	case j.DeletionTimestamp != nil:
		return "The Job is being deleted; its pods are stopping."
	case failing != nil && failing.Reason == batchv1.JobReasonDeadlineExceeded:
		return tookTooLong + timeout(j) + "; its pods are stopping."
	case failing != nil:
		return didNotPass
	case condition(j, batchv1.JobSuccessCriteriaMet) != nil:
		return "The tests passed; the pods are stopping."
	case j.Spec.Suspend != nil && *j.Spec.Suspend:
		return fmt.Sprintf("The Job is suspended, and starts when whoever suspended it, such as a queueing system, resumes it: kubectl describe job -n %s %s", j.Namespace, j.Name)
	default:
		return podsDoing(j, pods)
	}
}

// podsDoing prefers a pod that cannot start over one that runs, as the run ends with the last of them.
func podsDoing(j *batchv1.Job, pods []corev1.Pod) string {
	active := slices.DeleteFunc(slices.SortedFunc(slices.Values(pods), byCreation), ended)
	for i := range active {
		if why := blocked(&active[i]); why != "" {
			return why
		}
	}
	for i := range active {
		if active[i].Status.Phase == corev1.PodRunning {
			return podDoing(j, &active[i])
		}
	}
	if len(active) > 0 {
		return podDoing(j, &active[0])
	}
	if len(pods) > 0 && j.Status.Failed == 0 {
		return "The pod has ended."
	}
	return countsDoing(j)
}

// countsDoing makes do with what the Job counts: a pod that is ready needs no closer look.
func countsDoing(j *batchv1.Job) string {
	switch {
	case j.Status.Ready != nil && *j.Status.Ready > 0:
		return testsRunning(j)
	case j.Status.Active > 0:
		return podStarting
	case HasPods(j):
		return podDeleted
	case j.Status.Failed > 0:
		return "A pod failed, and the Job starts another, as its backoffLimit allows."
	case j.Spec.ManagedBy != nil && *j.Spec.ManagedBy != batchv1.JobControllerName:
		return fmt.Sprintf("Waiting for %q, which manages the Job, to start it; while it does not, no timeout ends the run. If it is not installed, correct spec.managedBy in the jobTemplate of the Trigger and cancel the run.", plaintext.Line(*j.Spec.ManagedBy, maxName))
	default:
		return fmt.Sprintf("Waiting for the pod to be created. If that takes long, a quota or an admission policy refuses it: kubectl describe job -n %s %s", j.Namespace, j.Name)
	}
}

// testsRunning names the Job and not a pod, so that the words are the same whether a pod was looked at
// or not, and whichever pod it was.
func testsRunning(j *batchv1.Job) string {
	return fmt.Sprintf("The tests are running. Follow them: kubectl logs -n %s job/%s -f", j.Namespace, j.Name)
}

func ended(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func podDoing(j *batchv1.Job, p *corev1.Pod) string {
	init := initializing(p)
	switch {
	case p.DeletionTimestamp != nil:
		return podDeleted
	case p.Spec.NodeName == "":
		return "Waiting for the pod to be scheduled."
	case init == FetchContainer:
		return fmt.Sprintf("The input files are being downloaded. Follow it: kubectl logs -n %s %s -c %s -f", p.Namespace, p.Name, init)
	case init != "":
		return fmt.Sprintf("The init container %q is running. Follow it: kubectl logs -n %s %s -c %s -f", init, p.Namespace, p.Name, init)
	case lagging(p) != "":
		return fmt.Sprintf("A container has ended, and the run goes on until container %q ends too.", lagging(p))
	case p.Status.Phase == corev1.PodRunning:
		return testsRunning(j)
	default:
		return fmt.Sprintf("The pod is being set up: volumes, network, images. If that takes long: kubectl describe pod -n %s %s", p.Namespace, p.Name)
	}
}

// initializing is the name of the init container that runs now and has to end before the tests start.
func initializing(p *corev1.Pod) string {
	for _, cs := range p.Status.InitContainerStatuses {
		if cs.State.Running != nil && !isSidecar(p, cs.Name) {
			return cs.Name
		}
	}
	return ""
}

// lagging is the name of a container that still runs where another has ended: often one that was added
// to the pod without being made a sidecar, which keeps a run from ending before its timeout.
func lagging(p *corev1.Pod) string {
	name, ended := "", false
	for _, cs := range p.Status.ContainerStatuses {
		if cs.State.Running != nil {
			name = cs.Name
		}
		ended = ended || cs.State.Terminated != nil
	}
	if !ended {
		return ""
	}
	return name
}

// isSidecar reports whether an init container of that name goes on beside the tests.
func isSidecar(p *corev1.Pod, name string) bool {
	return slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}
