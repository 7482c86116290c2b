package outcome

import (
	"unique"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/job"
)

// StripJob drops what Postflight does not read again, to keep the cache small. The result shares memory with the Job; do not write it.
func StripJob(j *batchv1.Job) *batchv1.Job {
	e := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: j.Name, Namespace: unique.Make(j.Namespace).Value(), UID: j.UID,
			ResourceVersion: j.ResourceVersion, Generation: j.Generation,
			CreationTimestamp: j.CreationTimestamp, DeletionTimestamp: j.DeletionTimestamp,
			Annotations:     keptAnnotations(j),
			OwnerReferences: j.OwnerReferences,
		},
		Spec: batchv1.JobSpec{
			ActiveDeadlineSeconds: job.DeadlineSeconds(job.TimeLimit(j)),
			Suspend:               j.Spec.Suspend,
			ManagedBy:             j.Spec.ManagedBy,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				ActiveDeadlineSeconds:         job.DeadlineSeconds(job.StartLimit(j)),
				RestartPolicy:                 j.Spec.Template.Spec.RestartPolicy,
				TerminationGracePeriodSeconds: j.Spec.Template.Spec.TerminationGracePeriodSeconds,
			}},
		},
		Status: j.Status,
	}
	if succeeded, failed := endedPods(j); succeeded == int(j.Status.Succeeded) && failed == int(j.Status.Failed) {
		e.Status.UncountedTerminatedPods = nil // mostly empty
	}
	if end := end(j); end != nil {
		e.Status.UncountedTerminatedPods = nil
		e.Status.Conditions = []batchv1.JobCondition{*end} // the conditions that announced it add nothing
	}
	if queue := j.Labels[job.QueueLabel]; queue != "" {
		e.Labels = map[string]string{job.QueueLabel: queue}
	}
	if job.IsIndexed(&j.Spec) {
		e.Spec.CompletionMode = j.Spec.CompletionMode
	}
	if n := j.Spec.Completions; n != nil && *n != 1 {
		e.Spec.Completions = n
	}
	e.Spec.BackoffLimitPerIndex = j.Spec.BackoffLimitPerIndex
	if isQueue(&j.Spec) {
		e.Spec.Parallelism = j.Spec.Parallelism
	}
	if j.Annotations[v1alpha1.AnnotationQuarantines] != "" {
		keepExcusable(e, j)
	}
	if c := job.FetcherOf(j); c != nil {
		e.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: c.Name, Env: c.Env}}
	}
	if job.KeepsResults(&j.Spec.Template.Spec) {
		e.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: job.ResultsVolume}}
	}
	return e
}

// keptAnnotations returns nil for most Jobs: a map for each would be a twentieth of the cache.
func keptAnnotations(j *batchv1.Job) (kept map[string]string) {
	for _, name := range []string{
		v1alpha1.AnnotationStopRequested, v1alpha1.AnnotationRequire, v1alpha1.AnnotationMinTests, v1alpha1.AnnotationFewerTests,
		v1alpha1.AnnotationUnderTest,
		v1alpha1.AnnotationQuarantines, v1alpha1.AnnotationRepeatsFailed,
	} {
		value, ok := j.Annotations[name]
		if !ok {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[name] = value
	}
	return kept
}

// keepExcusable keeps what unexcused needs of a Job, in the cache.
func keepExcusable(e, j *batchv1.Job) {
	e.Spec.Completions, e.Spec.Parallelism = j.Spec.Completions, j.Spec.Parallelism
	for _, c := range j.Spec.Template.Spec.Containers {
		e.Spec.Template.Spec.Containers = append(e.Spec.Template.Spec.Containers, corev1.Container{Name: c.Name})
	}
}
