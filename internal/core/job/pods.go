package job

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// PodsOf overwrites the slice with the pods that this Job created: pods of an earlier Job of the name may still be stopping.
func PodsOf(j *batchv1.Job, pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, j) })
}

// AnyRunning reports whether any of the pods has not ended, and may still touch the environment.
func AnyRunning(pods []corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool { return !ended(p) })
}

// Unlabeled reports whether somebody removed the label by which the cache of Jobs is filtered.
func Unlabeled(j *batchv1.Job) bool { return j.Labels[v1alpha1.LabelSuite] == "" }
