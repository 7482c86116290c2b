package outcome

import (
	"regexp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// failedByItself reports whether the tests of a pod failed, so that a run is not repeated whose last pod was stopped. Pods that were
// deleted were so because the Job had failed.
func failedByItself(p corev1.Pod) bool {
	return p.DeletionTimestamp == nil && hasFailed(&p) && !endingOf(&p).stoppedByCluster()
}

// LostToCluster reports whether pods that do not stop were stopped by the cluster: nobody canceled the run or deleted its Job, it was not
// too late, and no test failed.
func LostToCluster(j *batchv1.Job, pods []corev1.Pod) bool {
	failing := condition(j, batchv1.JobFailureTarget)
	late := failing != nil && failing.Reason == batchv1.JobReasonDeadlineExceeded
	return job.StopRequested(j).IsZero() && j.DeletionTimestamp == nil && !late && !slices.ContainsFunc(pods, failedByItself)
}

// unpulled reports whether a container waits for an image that its registry may have, and its node may get. Other images need a person.
func unpulled(cs corev1.ContainerStatus) bool {
	w := cs.State.Waiting
	return w != nil && slices.Contains([]string{"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"}, w.Reason) &&
		!refusedByRegistry.MatchString(w.Message)
}

// refusedByRegistry matches what containerd and CRI-O say of an image that does not exist, or that the credentials do not open.
var refusedByRegistry = regexp.MustCompile(
	`(?i)code = NotFound|: not found$|manifest unknown|name unknown|unauthorized|forbidden|denied|no basic auth`)
