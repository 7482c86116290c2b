package dispatch

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestTriggerClass: what a notification may set, and how long its run is kept, may come from the class.
func TestTriggerClass(t *testing.T) {
	class := &v1alpha1.TriggerClass{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1alpha1.TriggerClassSpec{
		AllowVariables: []string{"GREP"}, Retention: v1alpha1.Retention{TTLAfterFinished: &metav1.Duration{Duration: time.Hour}},
	}}
	class.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Image: "test"}}
	inherits := func(t *v1alpha1.Trigger) { t.Spec.TriggerClassName = "web" }
	h := start(t, setup{objects: append(acme(trigger("smoke", inherits)), class)})

	refused := h.notify(`{"branch":"main","sha":"` + sha + `","variables":{"OTHER":"x"}}`).Triggers[0]
	if refused.Decision != Failed || refused.Reason != "The Trigger smoke does not accept the variable OTHER: leave it out, or add it to allowVariables of the Trigger." {
		t.Errorf("%+v", refused)
	}
	created := h.notify(`{"branch":"main","sha":"` + sha + `","variables":{"GREP":"x"}}`).Triggers[0]
	if created.Decision != Created {
		t.Fatalf("%+v", created)
	}
	if ttl := h.suites()[0].Spec.TTLAfterFinished; ttl == nil || ttl.Duration != time.Hour {
		t.Errorf("the run is kept for %v, want 1h", ttl)
	}
}

// TestTriggerClassMissing: nothing is created, and the sender learns what to do.
func TestTriggerClassMissing(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.TriggerClassName = "web" }))})
	got := h.notify(withSHA).Triggers[0]
	if got.Decision != Failed || got.Reason != `The TriggerClass "web" of the Trigger "smoke" does not exist. Create it, or name another one in the Trigger.` {
		t.Errorf("%+v", got)
	}
	if n := len(h.suites()); n != 0 {
		t.Errorf("%d runs", n)
	}
}
