package controllers

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestInitialListEnqueuesNobody has a reconciler without a client, which could not look at anything: a
// manager that starts looks at all Suites anyway, and not once more at the stream of each.
func TestInitialListEnqueuesNobody(t *testing.T) {
	r := &SuiteReconciler{}
	s := &v1alpha1.Suite{}
	s.Spec.SupersedeKey = "main/staging"
	r.enqueueAffected().Create(t.Context(), event.CreateEvent{Object: s, IsInInitialList: true}, nil)
	defer func() {
		if recover() == nil {
			t.Error("a Suite that arrives later enqueues nobody either, so this test proves nothing")
		}
	}()
	r.enqueueAffected().Create(t.Context(), event.CreateEvent{Object: s}, nil)
}
