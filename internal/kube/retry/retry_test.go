package retry

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestRetryConflicts: a conflict is no error, unless it stays.
func TestRetryConflicts(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "suites"}, "run", errors.New("modified"))
	broken := errors.New("broken")
	next := error(nil)
	r := Conflicts(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		return ctrl.Result{RequeueAfter: time.Hour}, next
	}))
	step := func(err error) (ctrl.Result, error) {
		next = err
		return r.Reconcile(t.Context(), ctrl.Request{})
	}
	if result, err := step(nil); err != nil || result.RequeueAfter != time.Hour {
		t.Errorf("a success became %+v, %v", result, err)
	}
	if _, err := step(broken); !errors.Is(err, broken) {
		t.Errorf("an error became %v", err)
	}
	for range 2 {
		for i := range maxConflicts {
			if result, err := step(fmt.Errorf("report: %w", conflict)); err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > conflictRetryMax {
				t.Errorf("conflict %d became %+v, %v", i, result, err)
			}
		}
		if _, err := step(conflict); !apierrors.IsConflict(err) {
			t.Errorf("a conflict that stays became %v", err)
		}
		_, _ = step(nil) // starts anew
	}
}
