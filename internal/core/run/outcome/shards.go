package outcome

import (
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// isQueue reports whether pods take their work from a queue: Kubernetes does not repeat one that fails after another succeeded.
func isQueue(spec *batchv1.JobSpec) bool {
	return !job.IsIndexed(spec) && spec.Completions == nil && ptr.Deref(spec.Parallelism, 1) > 1
}

// unsuccessful says that an Indexed Job is complete although some indexes did not succeed, as a successPolicy lets it: what was stopped
// may not have run all its tests. It is "" for other Jobs.
func unsuccessful(j *batchv1.Job) string {
	all := ptr.Deref(j.Spec.Completions, 1)
	if !job.IsIndexed(&j.Spec) || j.Status.Succeeded >= all || condition(j, batchv1.JobComplete) == nil { // else lastPods has one of each
		return ""
	}
	return fmt.Sprintf("Only %d of %d indexes of the Job succeeded. Its successPolicy does not wait for the others, so nothing shows that "+
		"their tests pass. Remove successPolicy from the jobTemplate of the Trigger, or set results.require to Nothing, with which the Job "+
		"alone decides.", j.Status.Succeeded, all)
}

// shards says how many indexes of an indexed Job failed, or "".
func shards(j *batchv1.Job, pods []corev1.Pod) string {
	all := int(ptr.Deref(j.Spec.Completions, 1))
	failed := countIndexes(ptr.Deref(j.Status.FailedIndexes, ""))
	if failed == 0 { // the first failure ended the Job
		failed = failedShards(pods)
	}
	if !job.IsIndexed(&j.Spec) || all < 2 || failed == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d shards failed", failed, all)
	stopped := all - failed - int(j.Status.Succeeded)
	switch {
	case stopped == 1:
		text += "; 1 was stopped"
	case stopped > 1:
		text += fmt.Sprintf("; %d were stopped", stopped)
	}
	return text + ". "
}

// countIndexes counts those of a list such as "1,3-5", as the status of a Job has it.
func countIndexes(list string) (n int) {
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		n++
		if last, err := strconv.Atoi(to); isRange && err == nil && last > first {
			n += last - first
		}
	}
	return n
}

// failedShards excludes pods that were deleted because the Job had failed.
func failedShards(pods []corev1.Pod) int {
	indexes := map[string]bool{}
	for _, p := range pods {
		index := p.Annotations[batchv1.JobCompletionIndexAnnotation]
		if index != "" && ended(p) && hasFailed(&p) && p.DeletionTimestamp == nil {
			indexes[index] = true
		}
	}
	return len(indexes)
}
