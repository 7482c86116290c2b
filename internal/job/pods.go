package job

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// PodsOf are those of the pods that the Job made. Pods are found by its name, which an earlier Job may
// have had, whose pods are still stopping. The slice is not used any more afterwards.
func PodsOf(j *batchv1.Job, pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, j) })
}

// Left reports whether any of the pods has not ended: it may still touch the environment.
func Left(pods []corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool { return !ended(p) })
}

// Unlabeled reports whether a Job lacks the label by which the cache of Jobs is filtered: somebody took it
// away, or a webhook did.
func Unlabeled(j *batchv1.Job) bool { return j.Labels[v1alpha1.LabelSuite] == "" }
