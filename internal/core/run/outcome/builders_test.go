package outcome

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/build"
)

var start = time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)

// after the start, in seconds.
func after(seconds int) metav1.Time {
	return metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
}

func newJob(change ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "smoke-1", Namespace: "acme"},
		Spec:       batchv1.JobSpec{ActiveDeadlineSeconds: new(int64(1800))},
	}
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return build.With(j, change...)
}

func with(t batchv1.JobConditionType, reason, message string) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.StartTime = new(after(0))
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
			Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: after(42),
		})
	}
}

func complete(j *batchv1.Job) {
	with(batchv1.JobComplete, batchv1.JobReasonCompletionsReached, "")(j)
	j.Status.Succeeded, j.Status.CompletionTime = 1, new(after(41))
}

func backoffExceeded(j *batchv1.Job) {
	with(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")(j)
	j.Status.Failed = 1
}

func deadlineExceeded(j *batchv1.Job) {
	with(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")(j)
}

func onFailure(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }

func newPod(phase corev1.PodPhase, change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "smoke-1-x", Namespace: "acme", CreationTimestamp: after(0)},
		Spec: corev1.PodSpec{
			NodeName:      "node-1",
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "test", Image: "acme/tests:1"}},
		},
		Status: corev1.PodStatus{Phase: phase},
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

// container adds the status of a container of the pod.
func container(name string, state corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, State: state})
	}
}

func initContainer(name string, state corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: name, Image: "acme/" + name + ":1"})
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{Name: name, State: state})
	}
}

func sidecar(name string, state corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		initContainer(name, state)(p)
		p.Spec.InitContainers[len(p.Spec.InitContainers)-1].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	}
}

func exit(code int32, second int, message string) corev1.ContainerState {
	return exitFor("Error", code, second, message)
}

func exitFor(reason string, code int32, second int, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: message, FinishedAt: after(second),
	}}
}

func waits(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

var runs = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}

func podCondition(t corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: t, Status: status, Reason: reason, Message: message})
	}
}

func podReason(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Reason, p.Status.Message = reason, message }
}

func named(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Name = name } }

// deleted with a grace period of 30 s, requested for at the given second.
func deleted(second int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(after(second+30)), new(int64(30))
	}
}

func memory(limit string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}
}

// require lets a Job remember what its results have to have.
func require(j *batchv1.Job, r results.Requirement) {
	j.Annotations = job.WithResults(j, job.Results{Required: r, Quarantines: job.QuarantinesOf(j)}).Annotations
}

// applies lets a Job remember its Quarantines.
func applies(j *batchv1.Job, a quarantine.Applied) {
	j.Annotations = job.WithResults(j, job.Results{Required: job.RequirementOf(j), Quarantines: a}).Annotations
}

// written is the condition of a state as it is written if nothing else follows.
func written(s State) metav1.Condition { return WithAdvice(s.Condition, s.Advice) }
