package fakecluster

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/history"
)

// PodName is that of the pod of a Job.
func PodName(job string) string { return job + "-pod" }

// NewPod is the pod of a Job on a node.
func NewPod(j *batchv1.Job, node string) *corev1.Pod {
	template := j.Spec.Template.DeepCopy()
	p := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	if p.Spec.ServiceAccountName == "" {
		p.Spec.ServiceAccountName = "default" // as an admission plugin does, which tests leave out
	}
	p.Namespace, p.Name, p.Spec.NodeName = j.Namespace, PodName(j.Name), node
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
	return p
}

// RunPod starts all containers.
func RunPod(p *corev1.Pod, at time.Time) {
	p.Status.Phase = corev1.PodRunning
	setContainers(p, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}})
}

// EndPod ends all containers with an exit code.
func EndPod(p *corev1.Pod, exit int32) {
	ended := &corev1.ContainerStateTerminated{ExitCode: exit, Reason: "Completed", StartedAt: startOf(p), FinishedAt: metav1.Now()}
	p.Status.Phase = corev1.PodSucceeded
	if exit != 0 {
		p.Status.Phase, ended.Reason = corev1.PodFailed, "Error"
	}
	setContainers(p, corev1.ContainerState{Terminated: ended})
}

// Collect ends the collector of a pod, if it has one. Only Passed and Reported leave a report.
func Collect(p *corev1.Pod, end history.Tests) {
	i := slices.IndexFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == job.CollectContainer })
	if i < 0 {
		return
	}
	ended := &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: metav1.Now()}
	switch end {
	case history.Passed:
		ended.Message = results.Message(results.Summary{Counts: results.Counts{Reports: 1, Tests: 2, Passed: 2}})
	case history.Reported:
		ended.Message = results.Message(results.Summary{Counts: results.Counts{Reports: 1, Tests: 2, Passed: 1, Failed: 1}})
	}
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{ContainerStatus(job.CollectContainer, corev1.ContainerState{Terminated: ended})}
}

// ExpirePod is what a kubelet does to a pod whose deadline has passed. It keeps the pod.
func ExpirePod(p *corev1.Pod) {
	EndPod(p, 137) // by SIGKILL
	p.Status.Reason = batchv1.JobReasonDeadlineExceeded
}

func startOf(p *corev1.Pod) (at metav1.Time) {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Running != nil {
			at = c.State.Running.StartedAt
		}
	}
	return at
}

func setContainers(p *corev1.Pod, state corev1.ContainerState) {
	p.Status.ContainerStatuses = nil
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, ContainerStatus(c.Name, state))
	}
}

// ContainerStatus has the fields that an API server requires.
func ContainerStatus(name string, state corev1.ContainerState) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, Image: "test", ImageID: "test", State: state, Ready: state.Running != nil}
}
