package outcome

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

func unfinished(j *batchv1.Job, pods []corev1.Pod) State {
	s := running(j, pods)
	if StoppingSince(j).IsZero() && !begun(j, pods) {
		s.Condition.Reason = v1alpha1.ReasonStarting
		if suspended(j) {
			s.Condition.Reason = v1alpha1.ReasonQueued
		}
		s.StartingSince = startingSince(j, pods)
	}
	return s
}

// startingSince is the last start of the tests: a queueing system may suspend a running Job, and an uncounted pod may vanish with its node.
func startingSince(j *batchv1.Job, pods []corev1.Pod) time.Time {
	since := j.CreationTimestamp.Time
	for _, c := range j.Status.Conditions {
		if c.Type == batchv1.JobSuspended && c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	for _, p := range pods {
		if p.CreationTimestamp.After(since) {
			since = p.CreationTimestamp.Time
		}
	}
	return since
}

func begun(j *batchv1.Job, pods []corev1.Pod) bool {
	succeeded, failed := endedPods(j)
	return ptr.Deref(j.Status.Ready, 0) > 0 || succeeded > 0 || failed > 0 ||
		slices.ContainsFunc(pods, func(p corev1.Pod) bool { return testsBegan(&p) })
}

func testsBegan(p *corev1.Pod) bool {
	return slices.ContainsFunc(testStatuses(p), func(cs corev1.ContainerStatus) bool {
		backsOff := cs.State.Waiting != nil && cs.State.Waiting.Reason == "CrashLoopBackOff"
		return cs.State.Running != nil || cs.State.Terminated != nil || cs.RestartCount > 0 || backsOff
	})
}

// endedPods includes uncounted ones: Kubernetes counts a pod that has ended in a second write.
func endedPods(j *batchv1.Job) (succeeded, failed int) {
	uncounted := ptr.Deref(j.Status.UncountedTerminatedPods, batchv1.UncountedTerminatedPods{})
	return int(j.Status.Succeeded) + len(uncounted.Succeeded), int(j.Status.Failed) + len(uncounted.Failed)
}

func running(j *batchv1.Job, pods []corev1.Pod) State {
	failing := condition(j, batchv1.JobFailureTarget)
	switch {
	case j.DeletionTimestamp != nil:
		return doing("The Job is being deleted; its pods are stopping.")
	case failing != nil && failing.Reason == batchv1.JobReasonDeadlineExceeded:
		return noPod(tookTooLong + timeout(j) + "; its pods are stopping.")
	case failing != nil && job.QuarantinesOf(j).Valid():
		return noPod("A container failed; the pods are stopping, and the reports decide whether only quarantined tests failed.")
	case failing != nil:
		return noPod("The run did not pass; its pods are stopping.")
	case condition(j, batchv1.JobSuccessCriteriaMet) != nil:
		return doing("Every container exited with 0; the pods are stopping.")
	case suspended(j):
		return doing(suspendedMessage(j))
	default:
		return podsState(j, pods)
	}
}

func doing(message string) State { return State{Condition: v1alpha1.Running(message)} }

func noPod(message string) State {
	return State{Condition: v1alpha1.Running(message), podUnknown: true}
}

func cannotStart(why string) State {
	problem := "The pod cannot start: " + why
	return State{Condition: v1alpha1.Running(problem), PodProblem: problem}
}

// podsState prefers a pod that cannot start, because the run ends with the last pod.
func podsState(j *batchv1.Job, pods []corev1.Pod) State {
	active := slices.DeleteFunc(slices.SortedFunc(slices.Values(pods), byCreation), ended)
	for i := range active {
		if s, ok := blocked(&active[i]); ok {
			return s
		}
	}
	for i := range active {
		if active[i].Status.Phase == corev1.PodRunning {
			return podState(j, &active[i])
		}
	}
	if len(active) > 0 {
		return podState(j, &active[0])
	}
	if len(pods) > 0 && j.Status.Failed == 0 {
		return doing("The pod has ended.")
	}
	return countedState(j)
}

// countedState uses only the counts in the Job's status: a pod that is ready needs no closer look.
func countedState(j *batchv1.Job) State {
	_, failed := endedPods(j)
	switch {
	case job.RunsElsewhere(j) && HasPods(j):
		return doing(runningElsewhere(j))
	case ptr.Deref(j.Status.Ready, 0) > 0:
		return testsRunning(j)
	case j.Status.Active > 0:
		return noPod("The pod is starting.")
	case HasPods(j):
		return noPod("The pod is being deleted.")
	case failed > 0:
		return doing("A pod failed, and the Job starts another, as its backoffLimit allows.")
	case j.Spec.ManagedBy != nil && *j.Spec.ManagedBy != batchv1.JobControllerName:
		return doing(fmt.Sprintf(
			"Waiting for %q, which manages the Job, to start it; if it does not, the run ends by its startTimeout. If it is not installed, "+
				"correct spec.managedBy in the jobTemplate of the Trigger.", plaintext.Line(*j.Spec.ManagedBy, maxName)))
	default:
		return doing(fmt.Sprintf(
			"Waiting for the pod to be created. If that takes long, a quota or an admission policy refuses it: kubectl describe job -n %s %s",
			j.Namespace, j.Name))
	}
}

// testsRunning names the Job, so that the message is the same for all pods, and if none was read.
func testsRunning(j *batchv1.Job) State {
	return doing("The tests are running. Follow them: " + logCommands(j, "job/"+j.Name, "-f"))
}

func ended(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func podState(j *batchv1.Job, p *corev1.Pod) State {
	init, last, held := initializing(p), stillRunning(p), heldOpen(p)
	switch {
	case p.DeletionTimestamp != nil:
		return noPod("The pod is being deleted.")
	case p.Spec.NodeName == "":
		return doing("Waiting for the pod to be scheduled.")
	case init == job.FetchContainer:
		return doing("The input files are being downloaded. Follow it: " + logCommands(j, p.Name, "-c "+init+" -f"))
	case init == job.ReadyContainer:
		return probing(j, p)
	case init != "":
		return doing(fmt.Sprintf("The init container %q is running. Follow it: %s", init, logCommands(j, p.Name, "-c "+init+" -f")))
	case held != "":
		return doing(fmt.Sprintf(
			"The tests have ended. The container %q, which is not in the jobTemplate, still runs, and is stopped if it does not end.",
			plaintext.Line(held, maxName)))
	case !testsEnded(p).IsZero():
		return doing("The tests have ended; what they wrote is being collected, and the pod is stopping.")
	case last != "":
		return doing(fmt.Sprintf("A container has ended, and the run continues until container %q ends too.", last))
	case p.Status.Phase == corev1.PodRunning:
		return testsRunning(j)
	default:
		return doing(fmt.Sprintf("The pod is being set up: volumes, network, images. If that takes long: kubectl describe pod -n %s %s",
			p.Namespace, p.Name))
	}
}

// initializing returns the init container that has to end before the tests start.
func initializing(p *corev1.Pod) string {
	for _, cs := range p.Status.InitContainerStatuses {
		if cs.State.Running != nil && !isSidecar(p, cs.Name) {
			return cs.Name
		}
	}
	return ""
}

// testStatuses returns the status of each container of the tests: sidecars are none, nor is what was injected.
func testStatuses(p *corev1.Pod) []corev1.ContainerStatus {
	return slices.DeleteFunc(slices.Clone(p.Status.ContainerStatuses),
		func(cs corev1.ContainerStatus) bool { return !job.InTemplate(&p.Spec, cs.Name) })
}

// testsEnded is zero while a container of the tests runs or will be restarted. Others may still be stopping.
func testsEnded(p *corev1.Pod) time.Time {
	var last time.Time
	known := testStatuses(p)
	for _, cs := range known {
		t := cs.State.Terminated
		if t == nil || restarts(p, cs) {
			return time.Time{}
		}
		if t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	if len(known) < testContainers(p) {
		return time.Time{}
	}
	return last
}

// testContainers returns how many containers of the tests a pod has.
func testContainers(p *corev1.Pod) (n int) {
	for _, c := range p.Spec.Containers {
		if job.InTemplate(&p.Spec, c.Name) {
			n++
		}
	}
	return n
}

// allTestsEnded is for the pods that have not ended; zero if tests of one continue, or there is no such pod.
func allTestsEnded(pods []corev1.Pod) time.Time {
	var last time.Time
	for _, p := range pods {
		if ended(p) {
			continue
		}
		at := testsEnded(&p)
		if at.IsZero() {
			return at
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// stillRunning returns a container of the tests that runs while another has ended.
func stillRunning(p *corev1.Pod) string {
	name, ended := "", false
	for _, cs := range testStatuses(p) {
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

func isSidecar(p *corev1.Pod, name string) bool {
	return slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}
