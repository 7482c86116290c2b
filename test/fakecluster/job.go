// Package fakecluster does what the Job controller, the kubelets and the garbage collector do to runs on an API server without
// them. It is the one place that knows what Kubernetes writes when a Job and its pod start, end and are deleted.
//
// The functions of this file and of pod.go change one object, and do not write it. A Cluster does all of it by itself.
package fakecluster

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// messages are those of the Job controller, by the reasons that come with them.
var messages = map[string]string{
	batchv1.JobReasonCompletionsReached:   "Reached expected number of succeeded pods",
	batchv1.JobReasonBackoffLimitExceeded: "Job has reached the specified backoff limit",
	batchv1.JobReasonDeadlineExceeded:     "Job was active longer than specified deadline",
}

// SeeJob is the first that the Job controller does.
func SeeJob(j *batchv1.Job) {
	j.Status.StartTime = cmp.Or(j.Status.StartTime, new(metav1.Now()))
}

// StartJob follows the creation of the pod.
func StartJob(j *batchv1.Job) {
	SeeJob(j)
	j.Status.Active = 1
}

// ReadyJob follows when the pod is ready.
func ReadyJob(j *batchv1.Job) { j.Status.Ready = new(int32(1)) }

// CompleteJob follows when the pod has succeeded.
func CompleteJob(j *batchv1.Job) {
	EndJob(j, batchv1.JobReasonCompletionsReached, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
	j.Status.Succeeded, j.Status.CompletionTime = 1, new(metav1.Now())
}

// FailJob follows when the pod has failed.
func FailJob(j *batchv1.Job, reason string) {
	EndJob(j, reason, batchv1.JobFailureTarget, batchv1.JobFailed)
	j.Status.Failed = 1
}

// TerminateJob announces the failure of a Job whose pod is being deleted.
func TerminateJob(j *batchv1.Job) {
	EndJob(j, batchv1.JobReasonBackoffLimitExceeded, batchv1.JobFailureTarget)
	j.Status.Terminating = new(int32(1))
}

// EndJob adds conditions to a Job whose pod has ended.
func EndJob(j *batchv1.Job, reason string, conditions ...batchv1.JobConditionType) {
	SeeJob(j)
	j.Status.Active, j.Status.Ready = 0, new(int32(0))
	for _, c := range conditions {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
			Type: c, Status: corev1.ConditionTrue, Reason: reason, Message: messages[reason], LastTransitionTime: metav1.Now(),
		})
	}
}

// Finalize is what the garbage collector does to an object whose dependents are gone.
func Finalize(o client.Object) {
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
}
