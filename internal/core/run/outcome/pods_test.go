package outcome_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/internal/core/run/outcome"
)

func TestPodsOf(t *testing.T) {
	own := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "run", UID: "now"}}
	earlier := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "run", UID: "before"}}
	made := func(name string, by ...*batchv1.Job) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, j := range by {
			p.OwnerReferences = append(p.OwnerReferences, *metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job")))
		}
		return p
	}
	got := outcome.PodsOf(own, []corev1.Pod{made("of-an-earlier-run", earlier), made("of-this-run", own), made("of-no-run")})
	if len(got) != 1 || got[0].Name != "of-this-run" {
		t.Errorf("the pods of the Job are %v, want only the one it made", got)
	}
}

func TestAnyRunning(t *testing.T) {
	in := func(phases ...corev1.PodPhase) (pods []corev1.Pod) {
		for _, phase := range phases {
			pods = append(pods, corev1.Pod{Status: corev1.PodStatus{Phase: phase}})
		}
		return pods
	}
	for name, tc := range map[string]struct {
		reason string
		pods   []corev1.Pod
		want   bool
	}{
		"None":    {"Nothing is there.", nil, false},
		"Ended":   {"What has ended touches nothing.", in(corev1.PodSucceeded, corev1.PodFailed), false},
		"Running": {"One is enough.", in(corev1.PodFailed, corev1.PodRunning), true},
		"Pending": {"It may still start.", in(corev1.PodPending), true},
		"Unknown": {"Its node does not report.", in(corev1.PodUnknown), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outcome.AnyRunning(tc.pods); got != tc.want {
				t.Errorf("%s\nLeft = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}
