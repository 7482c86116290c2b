package pages_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestRetryPages: the pages of a run that the cluster ended and of its retry lead to each other, and say how to look around.
func TestRetryPages(t *testing.T) {
	lost := run{id: "lost", trigger: "mobile", environment: "device-lab", branch: "main", sha: "5ca1ab1e", ago: 2 * minute,
		condition: v1alpha1.Error("The node was lost. The run again is retry 1 of 2.")}.suite()
	lost.Status.RepeatedBy, lost.Status.PodsKeptUntil = "again", new(metav1.NewTime(time.Date(2126, 11, 25, 3, 0, 0, 0, time.UTC)))
	again := run{id: "again", trigger: "mobile", environment: "device-lab", branch: "main", sha: "5ca1ab1e", ago: minute,
		condition: v1alpha1.Passed("")}.suite()
	again.Annotations = map[string]string{v1alpha1.AnnotationRepeats: "lost", v1alpha1.AnnotationRetries: "1"}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: lost.Namespace, Name: "lost",
		Labels: map[string]string{v1alpha1.LabelSuite: "lost"}}}
	h := newWorld(t, append(samples(), lost, again, job))
	b := h.browser(t, actKey)
	for path, want := range map[string][]string{
		"/runs/shop/lost": {"is retry 1 of 2.", `Repeated by <a href="/runs/shop/again"`, ">postflight debug lost -n shop<",
			"kept until Monday, 25 November 2126, 03:00:00 UTC at least."},
		"/runs/shop/again": {`Repeats <a href="/runs/shop/lost"`, "which had no result: retry 1 after an error."},
	} {
		page := b.get(path)
		for _, text := range want {
			if !strings.Contains(page.body, text) {
				t.Errorf("%s: %d, without %q", path, page.code, text)
			}
		}
	}
	if page := b.get("/runs/shop/again"); strings.Contains(page.body, "postflight debug") {
		t.Error("nobody has to look around after a run that passed")
	}
}
