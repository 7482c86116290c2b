package bounded

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// Reporter writes into the status of objects that they are not cached. Their reconcilers do not see them.
type Reporter struct {
	Roster *Roster
	Client client.Client
	Clock  clock.PassiveClock
}

// retryAfter is how long after a failure writes are tried again.
const retryAfter = 5 * time.Second

// refusal is what a status is to say.
type refusal struct {
	account    *account
	entry      *entry
	generation int64
	message    string
}

// Start implements manager.Runnable.
func (r *Reporter) Start(ctx context.Context) error {
	limiter := rate.NewLimiter(reportsPerSecond, 1)
	for {
		failed := map[*entry]bool{}
		for round := r.Roster.refused(failed); len(round) > 0; round = r.Roster.refused(failed) {
			for _, refused := range round {
				if limiter.Wait(ctx) != nil {
					return nil
				}
				if !r.Roster.stillRefused(refused) {
					continue
				}
				if err := r.write(ctx, refused); err != nil && ctx.Err() == nil {
					failed[refused.entry] = true
					ctrl.LoggerFrom(ctx).Info("cannot report that an object is too large", "object", refused.entry.NamespacedName, "reason", err.Error())
				}
			}
		}
		var retry <-chan time.Time
		if len(failed) > 0 {
			retry = time.After(retryAfter)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.Roster.changed:
		case <-retry:
		}
	}
}

func (r *Reporter) write(ctx context.Context, refused refusal) error {
	obj := refused.entry.stub()
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": refused.entry.uid},
		"status": map[string]any{"conditions": []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTooLarge, Message: refused.message,
			ObservedGeneration: refused.generation, LastTransitionTime: metav1.NewTime(r.Clock.Now()),
		}}},
	})
	if err != nil {
		return err
	}
	err = r.Client.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch), client.DisableReadYourWritesConsistency)
	if apierror.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	r.Roster.reported(refused)
	return nil
}

// refused returns an object of each account whose status is to be written, so that those of one team delay no other's.
func (r *Roster) refused(failed map[*entry]bool) (round []refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.books {
		for _, a := range b.accounts {
			if e := a.firstRefused(failed); e != nil {
				round = append(round, refusal{account: a, entry: e, generation: e.generation, message: a.message(e, b.kind)})
			}
		}
	}
	return round
}

// stillRefused is false for an object that was changed, or is cached by now: its reconciler writes what holds.
func (r *Roster) stillRefused(earlier refusal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return earlier.account.has(earlier.entry) && earlier.account.refused(earlier.entry)
}

func (r *Roster) reported(written refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if written.account.has(written.entry) {
		written.entry.told = true
	}
}

// firstRefused does not look through an account in which nothing has changed since all were told.
func (a *account) firstRefused(failed map[*entry]bool) *entry {
	if !a.changed {
		return nil
	}
	for _, q := range []queue{a.order[a.fit:], a.large} {
		for _, e := range q {
			if a.refused(e) && !failed[e] {
				return e
			}
		}
	}
	a.changed = len(failed) > 0
	return nil
}
