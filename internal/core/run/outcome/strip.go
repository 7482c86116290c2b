package outcome

import (
	"cmp"
	"slices"
	"strings"
	"unique"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// StripJob drops what Postflight does not read again, to keep the cache small. The result shares memory with the Job; do not write it.
func StripJob(j *batchv1.Job) *batchv1.Job {
	e := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: j.Name, Namespace: unique.Make(j.Namespace).Value(), UID: j.UID,
			ResourceVersion: j.ResourceVersion, Generation: j.Generation,
			CreationTimestamp: j.CreationTimestamp, DeletionTimestamp: j.DeletionTimestamp,
			Annotations:     keptAnnotations(j),
			OwnerReferences: keptOwner(j),
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
		e.Status.Conditions = []batchv1.JobCondition{shareCondition(*end)} // the conditions that announced it add nothing
		if c := condition(j, batchv1.JobSuspended); c != nil && job.RunsElsewhere(j) {
			e.Status.Conditions = append(e.Status.Conditions, *c)
		}
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
	e.Spec.Template.Spec.InitContainers = job.StrippedFetcher(j)
	if job.KeepsResults(&j.Spec.Template.Spec) {
		e.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: job.ResultsVolume}}
	}
	return e
}

// LargeAnnotations hold what a Job remembers of its start.
var LargeAnnotations = []string{v1alpha1.AnnotationUnderTest, v1alpha1.AnnotationQuarantines, v1alpha1.AnnotationFailedPlan}

// smallAnnotations hold a word, a number or a time.
var smallAnnotations = []string{
	v1alpha1.AnnotationStopRequested, v1alpha1.AnnotationRequire, v1alpha1.AnnotationMinTests, v1alpha1.AnnotationFewerTests,
	v1alpha1.AnnotationMemoryOmitted,
}

// maxSmall bounds the other annotations, in bytes.
const maxSmall = 64

// maxLarge bounds each of LargeAnnotations, in bytes: 20 Quarantines take 3 KiB, and 400 failed tests 4 KiB.
var maxLarge = map[string]int{
	v1alpha1.AnnotationUnderTest: job.MaxAnnotation, v1alpha1.AnnotationQuarantines: 8 << 10, v1alpha1.AnnotationFailedPlan: 8 << 10,
}

// keptAnnotations returns nil for most Jobs: a map for each would be a twentieth of the cache. What is longer than anything that Postflight
// writes is cut, and counts as written by somebody else: it cannot be parsed.
func keptAnnotations(j *batchv1.Job) (kept map[string]string) {
	for _, name := range slices.Concat(smallAnnotations, LargeAnnotations) {
		value, ok := j.Annotations[name]
		if !ok {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		if most := cmp.Or(maxLarge[name], maxSmall); len(value) > most {
			value = strings.Clone(value[:most])
		}
		kept[name] = value
	}
	return kept
}

// keptOwner is the controller: nothing else of the owners is read.
func keptOwner(j *batchv1.Job) []metav1.OwnerReference {
	owner := metav1.GetControllerOf(j)
	if owner == nil || !job.SmallOwner(owner) {
		return nil
	}
	kept := *owner
	suite.Share(&kept.APIVersion, &kept.Kind)
	if kept.Name == j.Name { // as Suites have their Jobs
		kept.Name = j.Name
	}
	return []metav1.OwnerReference{kept}
}

// shareCondition shares what the ends of most Jobs have in common. Messages of failures may name pods.
func shareCondition(c batchv1.JobCondition) batchv1.JobCondition {
	suite.Share(&c.Type)
	suite.Share(&c.Status)
	suite.Share(&c.Reason)
	if c.Type == batchv1.JobComplete {
		suite.Share(&c.Message)
	}
	return c
}

// keepExcusable keeps what unexcused needs of a Job, in the cache.
func keepExcusable(e, j *batchv1.Job) {
	e.Spec.Completions, e.Spec.Parallelism = j.Spec.Completions, j.Spec.Parallelism
	all := j.Spec.Template.Spec.Containers
	for _, c := range all[:min(len(all), 2)] { // it matters which one it is, or that there are several
		e.Spec.Template.Spec.Containers = append(e.Spec.Template.Spec.Containers, corev1.Container{Name: c.Name})
	}
}
