package reconcile

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// Ready returns the condition of an object that works.
func Ready(reason, message string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// NotReady returns the condition of an object that does not work.
func NotReady(reason, message string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// SetReady writes the Ready condition of an object if it changed. conditions points into the object.
func SetReady(ctx context.Context, c client.Client, obj client.Object, conditions *[]metav1.Condition, ready metav1.Condition) error {
	old := obj.DeepCopyObject().(client.Object)
	ready.ObservedGeneration = obj.GetGeneration()
	if !meta.SetStatusCondition(conditions, ready) {
		return nil
	}
	patch := client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})
	return apierror.IgnoreNotFound(c.Status().Patch(ctx, obj, patch))
}

// maxNote is the API server's bound on the note of an event, in bytes.
const maxNote = 1024

// ClipNote shortens the note of an event.
func ClipNote(note string) string {
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-len("…")], "") + "…"
}
