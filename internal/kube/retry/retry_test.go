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
			if result, err := step(fmt.Errorf("report: %w", conflict)); err != nil || result.RequeueAfter <= 0 ||
				result.RequeueAfter > conflictRetryMax {
				t.Errorf("conflict %d became %+v, %v", i, result, err)
			}
		}
		if _, err := step(conflict); !apierrors.IsConflict(err) {
			t.Errorf("a conflict that stays became %v", err)
		}
		_, _ = step(nil) // starts anew
	}
}

// TestEndOfTerm: what a reconcile cannot finish when the term of the leader ends is no error. A reconcile that takes too long is one.
func TestEndOfTerm(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		end  func(context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		"the term has ended": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, end := context.WithCancel(ctx)
			end()
			return ctx, end
		}, nil},
		"the reconcile took too long": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 0)
		}, broken},
		"the term continues": {context.WithCancel, broken},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := tc.end(t.Context())
			defer end()
			r := Conflicts(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, broken }))
			if result, err := r.Reconcile(ctx, ctrl.Request{}); !errors.Is(err, tc.want) || result.RequeueAfter != 0 {
				t.Errorf("got %+v, %v, want %v", result, err, tc.want)
			}
		})
	}
}
