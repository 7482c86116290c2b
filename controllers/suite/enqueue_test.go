package suite

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// TestInitialListEnqueuesNothing: a manager that starts reconciles all Suites anyway, so the initial list must not
// also enqueue the stream of each. The reconciler has no client, so any look-up would panic.
func TestInitialListEnqueuesNothing(t *testing.T) {
	r := &Reconciler{streams: newStreams()}
	s := &v1alpha1.Suite{}
	s.Spec.SupersedeKey = "main/staging"
	r.enqueueStream().Create(t.Context(), event.CreateEvent{Object: s, IsInInitialList: true}, nil)
	defer func() {
		if recover() == nil {
			t.Error("a Suite that arrives later looks up nothing either, so this test proves nothing")
		}
	}()
	r.enqueueStream().Create(t.Context(), event.CreateEvent{Object: s}, nil)
}

// TestMessagesComeLast: what a manager finds when it starts, and all that may start for it, is reconciled before messages.
func TestMessagesComeLast(t *testing.T) {
	if queue.LastPriority >= handler.LowPriority {
		t.Errorf("the priority of messages is %d, and that of what is found at the start %d", queue.LastPriority, handler.LowPriority)
	}
}
