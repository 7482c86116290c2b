package job

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
)

// TestQuarantinesOfAJob: the collector gets the names, which no shell and no kubelet interprets, and the manager remembers the rest.
func TestQuarantinesOfAJob(t *testing.T) {
	r := Results{Directory: "/results", Collector: &Collector{Image: "postflight:1"}, Quarantines: quarantine.Applied{
		Rules: []quarantine.Rule{{Name: "q", Until: "2026-12-01", Tests: []string{"price is $(POSTFLIGHT_COLLECT_TOKEN)"}}},
	}}
	bare := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationQuarantines: `{"rules":[{"name":"mine"}]}`}}}
	j := WithResults(bare, r)
	if text := j.Annotations[v1alpha1.AnnotationQuarantines]; text != `{"rules":[{"name":"q","until":"2026-12-01"}]}` {
		t.Errorf("the annotation is %s", text)
	}
	if text := values(j.Spec.Template.Spec.InitContainers[0])[CollectQuarantine]; !strings.Contains(text, `price is $$(POSTFLIGHT_COLLECT_TOKEN)`) {
		t.Errorf("the variable is %s", text)
	}
	j = WithResults(bare, Results{Directory: "/results", Collector: r.Collector})
	if _, has := values(j.Spec.Template.Spec.InitContainers[0])[CollectQuarantine]; has || j.Annotations[v1alpha1.AnnotationQuarantines] != "" {
		t.Errorf("a Job without Quarantines: %v", j.Annotations)
	}
}
