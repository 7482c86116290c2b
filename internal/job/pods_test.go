package job_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/internal/job"
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
	got := job.PodsOf(own, []corev1.Pod{made("of-an-earlier-run", earlier), made("of-this-run", own), made("of-nobody")})
	if len(got) != 1 || got[0].Name != "of-this-run" {
		t.Errorf("the pods of the Job are %v, want only the one it made", got)
	}
}
