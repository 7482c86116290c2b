package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// StopDeadlineSeconds is the activeDeadlineSeconds of a pod that has to stop now. The kubelet grants its grace period, and keeps its logs.
const StopDeadlineSeconds = 1

// TimeLimit is how long the tests of a Job may run, or 0. Stripped Jobs, and Jobs of earlier versions, have it as their deadline.
func TimeLimit(j *batchv1.Job) time.Duration {
	limit, err := time.ParseDuration(j.Annotations[v1alpha1.AnnotationTimeout])
	if err != nil {
		return seconds(j.Spec.ActiveDeadlineSeconds)
	}
	return limit
}

// StartLimit is how long the tests of a Job may take to start; 0 if the Job does not say. overrideSpec put it into the deadline of the Job,
// and outcome.StripJob keeps it as that of the pods.
func StartLimit(j *batchv1.Job) time.Duration {
	if j.Annotations[v1alpha1.AnnotationTimeout] == "" {
		return seconds(j.Spec.Template.Spec.ActiveDeadlineSeconds)
	}
	return max(0, seconds(j.Spec.ActiveDeadlineSeconds)-podStopMargin-TimeLimit(j))
}

func seconds(n *int64) time.Duration { return time.Duration(ptr.Deref(n, 0)) * time.Second }

// StopRequested is when the manager began to stop the pods of a Job, or zero.
func StopRequested(j *batchv1.Job) time.Time {
	at, err := time.Parse(time.RFC3339, j.Annotations[v1alpha1.AnnotationStopRequested])
	if err != nil {
		return time.Time{}
	}
	return at
}

// GracePeriod is how long the pods of a Job may take to stop.
func GracePeriod(j *batchv1.Job) time.Duration {
	return time.Duration(ptr.Deref(j.Spec.Template.Spec.TerminationGracePeriodSeconds,
		corev1.DefaultTerminationGracePeriodSeconds)) * time.Second
}

const podStopMargin = 5 * time.Minute // for the grace periods of pods, and a slow kubelet
