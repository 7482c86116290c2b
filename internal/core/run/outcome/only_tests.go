package outcome

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// onlyTestsFailed reports whether all that is wrong with a run that has ended are failed tests: each of its pods ran to its end and
// reported whole. Then all tests that it does not name as failed passed, or were skipped.
func onlyTestsFailed(j *batchv1.Job, pods []corev1.Pod, c *results.Collected) bool {
	complete := c != nil && !c.NoStore && len(c.Missing) == 0 && len(c.Lost) == 0 && len(c.Summary.Silent) == 0 &&
		c.Summary.Failed > 0 && c.Summary.Unread == 0 && !c.Summary.Older
	return complete && results.DecidedByTests(job.RequirementOf(j)) && allStarted(j, pods) && !slices.ContainsFunc(pods, failedOtherwise)
}

// allStarted reports whether the pods are all that the Job was to have: the first failure may stop the others, and of a work queue nobody
// knows what is left in it.
func allStarted(j *batchv1.Job, pods []corev1.Pod) bool {
	if !job.IsIndexed(&j.Spec) {
		return len(pods) > 0 && ptr.Deref(j.Spec.Completions, 1) == 1 && ptr.Deref(j.Spec.Parallelism, 1) == 1
	}
	indexes := map[string]bool{}
	for _, p := range pods {
		indexes[p.Annotations[batchv1.JobCompletionIndexAnnotation]] = true
	}
	return len(indexes) == int(ptr.Deref(j.Spec.Completions, 1))
}

// failedOtherwise reports whether a pod was stopped, or its container killed or restarted, so that it may not have run all its tests, or
// whether its failure is not that of tests. Of several containers, one may have failed without a report.
func failedOtherwise(p corev1.Pod) bool {
	if !ended(p) || wasStopped(&p) {
		return true
	}
	summary, missing := report(&p)
	if missing != "" || summary.Outside > 0 || summary.Reports == 0 || hasFailed(&p) && summary.Failed == 0 {
		return true
	}
	return testContainers(&p) != 1 || slices.ContainsFunc(testStatuses(&p),
		func(cs corev1.ContainerStatus) bool { return !ranOnceWithoutSignal(cs) })
}

// withOnlyTests notes it on what was collected of a run that failed.
func withOnlyTests(s State, j *batchv1.Job, pods []corev1.Pod, c *results.Collected) {
	if c != nil && s.Condition.Reason == v1alpha1.ReasonFailed {
		c.OnlyTests = onlyTestsFailed(j, pods, c)
	}
}
