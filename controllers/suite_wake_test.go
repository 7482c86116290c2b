package controllers

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestInitialListWakesNobody has a reconciler without a client, which could not look at anything: a
// manager that starts looks at all Suites anyway, and not once more at the stream of each.
func TestInitialListWakesNobody(t *testing.T) {
	r := &SuiteReconciler{}
	s := &v1alpha1.Suite{}
	s.Spec.SupersedeKey = "main/staging"
	r.wakeOthers().Create(t.Context(), event.CreateEvent{Object: s, IsInInitialList: true}, nil)
	defer func() {
		if recover() == nil {
			t.Error("a Suite that arrives later wakes nobody either, so this test proves nothing")
		}
	}()
	r.wakeOthers().Create(t.Context(), event.CreateEvent{Object: s}, nil)
}
