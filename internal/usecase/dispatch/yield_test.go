package dispatch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestTeamsYield: of a team that notifies a hundred times, the API server gets few Suites at once while another team notifies, too. Each
// gets its Suite, also after a failure.
func TestTeamsYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := team("other")
		otherTrigger, otherStaging := trigger("smoke"), environmentNamed("staging")
		otherTrigger.Namespace, otherStaging.Namespace = "other", "other"
		answers, arrived := map[string]chan error{namespace: make(chan error), "other": make(chan error)}, map[string]int{}
		var mu sync.Mutex // of arrived
		h := start(t, setup{
			objects: append(acme(trigger("smoke")), other, otherTrigger, otherStaging),
			faults: interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if _, isSuite := o.(*v1alpha1.Suite); isSuite {
					mu.Lock()
					arrived[o.GetNamespace()]++
					mu.Unlock()
					if err := <-answers[o.GetNamespace()]; err != nil {
						return err
					}
				}
				return c.Create(ctx, o, opts...)
			}},
		})
		notify := func(team *v1alpha1.Team, n int) {
			for i := range n {
				go func() {
					result, err := h.dispatch(fmt.Sprintf(`{"branch":"main","sha":"%040x"}`, i), func(r *Request) { r.Team = team })
					if err != nil || result.Triggers[0].Decision != Created {
						t.Errorf("%+v, %v", result, err)
					}
				}()
				synctest.Wait()
			}
		}
		arrive := func(acme, others int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if arrived[namespace] != acme || arrived["other"] != others {
				t.Fatalf("Suites that the API server got: %v, want %d and %d", arrived, acme, others)
			}
		}
		notify(other, 1)
		notify(h.team, 100)
		atOnce := h.Limits.CreatesAtOnce
		arrive(atOnce, 1)
		answers["other"] <- nil
		arrive(atOnce, 1)
		answers[namespace] <- refusedConnection // it is tried again at once, beside the next one
		arrive(atOnce+2, 1)
		for range 100 {
			answers[namespace] <- nil
		}
		arrive(101, 1)
		if n := len(h.suites()); n != 101 {
			t.Errorf("there are %d Suites", n)
		}
	})
}
