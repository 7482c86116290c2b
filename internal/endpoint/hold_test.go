package endpoint

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/sleep"
)

// TestRetryAfterIsSaid: 503 without Retry-After would make clients guess.
func TestRetryAfterIsSaid(t *testing.T) {
	f := &faults{creates: repeat(1000, fault{err: refusedConnection})}
	h := start(t, setup{objects: acme(trigger("smoke")), faults: interceptor.Funcs{Create: f.create}})
	if got := h.exchange(post(withSHA)).Header().Get("Retry-After"); got != "10" {
		t.Errorf("Retry-After %q, want 10", got)
	}
}

// TestUnknownBesideKnown: one Trigger's outcome is not known when the budget ends.
func TestUnknownBesideKnown(t *testing.T) {
	onlyFor := func(name string, err error) interceptor.Funcs {
		return interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if s, ok := o.(*v1alpha1.Suite); ok && s.Spec.Trigger.Name == name {
				return err
			}
			return c.Create(ctx, o, opts...)
		}}
	}
	nowhere := func(t *v1alpha1.Trigger) { t.Spec.Environment = "nowhere" }
	t.Run("a run is known", func(t *testing.T) {
		h := start(t, setup{objects: acme(trigger("a"), trigger("b")), faults: onlyFor("b", refusedConnection)})
		got := h.notify(withSHA).Results
		if got[0].CreatedSuiteID == "" || !strings.Contains(got[1].FailureReason, "not known whether a run was created") {
			t.Errorf("got %+v, want the created run, and a reason that promises nothing", got)
		}
	})
	t.Run("no run is known", func(t *testing.T) {
		h := start(t, setup{objects: acme(trigger("a", nowhere), trigger("b")), faults: onlyFor("b", refusedConnection)})
		w := h.exchange(post(withSHA))
		got := decode[problem](t, w)
		if w.Code != http.StatusServiceUnavailable || len(got.Results) != 1 || got.Results[0].TriggerID != "a" {
			t.Errorf("%d %s, want 503 with the result of a", w.Code, w.Body)
		}
	})
}

// TestVanished: the Suite that has the name is deleted between the create and the look at it.
func TestVanished(t *testing.T) {
	cases := map[string]struct {
		times  int
		status int
	}{"once": {1, 200}, "always": {1000, 404}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			exists := apierrors.NewAlreadyExists(suitesResource, "x")
			f := &faults{creates: repeat(tc.times, fault{err: exists})}
			h := start(t, setup{objects: acme(trigger("smoke")), faults: interceptor.Funcs{Create: f.create}})
			if w := h.exchange(post(withSHA)); w.Code != tc.status {
				t.Errorf("status %d, want %d: %s", w.Code, tc.status, w.Body)
			}
		})
	}
}

// TestSlow: every call takes longer than the first attempt may, and the create that is cut off
// happens all the same.
func TestSlow(t *testing.T) {
	const slow = 150 * time.Millisecond
	creates := 0
	h := start(t, setup{objects: acme(trigger("smoke")), limits: func(l *Limits) { l.AttemptTimeout = 100 * time.Millisecond },
		faults: interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				creates++
				err := c.Create(context.WithoutCancel(ctx), o, opts...)
				return errors.Join(sleep.For(ctx, slow), err)
			},
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if err := sleep.For(ctx, slow); err != nil {
					return err
				}
				return c.Get(ctx, key, o, opts...)
			},
		}})
	if got := h.notify(withSHA).Results[0]; got.CreatedSuiteID == "" || creates != 2 {
		t.Errorf("%+v after %d creates, want it created after 2", got, creates)
	}
}

func TestHeldRequestsAreBounded(t *testing.T) {
	f := &faults{creates: repeat(1000, fault{err: refusedConnection})}
	h := start(t, setup{objects: acme(trigger("smoke")), faults: interceptor.Funcs{Create: f.create}, limits: func(l *Limits) { l.Held = 0 }})
	w := h.exchange(post(withSHA))
	got := decode[problem](t, w)
	if w.Code != http.StatusServiceUnavailable || f.seen != 1 || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d after %d tries, want 503 after 1, with Retry-After", w.Code, f.seen)
	}
	if got.FailureCode != "overloaded" || strings.Contains(got.Detail, "did not answer within") {
		t.Errorf("%s: %s; want overloaded, since nothing was waited for", got.FailureCode, got.Detail)
	}
}

func TestClientThatLeavesIsNotWaitedFor(t *testing.T) {
	f := &faults{creates: repeat(1000, fault{err: refusedConnection})}
	ctx, leave := context.WithCancel(t.Context())
	h := start(t, setup{objects: acme(trigger("smoke")), faults: interceptor.Funcs{Create: f.create},
		config: func(c *Config) {
			c.Sleep = func(ctx context.Context, _ time.Duration) error { leave(); return ctx.Err() }
		}})
	h.exchange(post(withSHA).WithContext(ctx))
	if f.seen != 1 {
		t.Errorf("%d tries, want 1", f.seen)
	}
	if n := testutil.ToFloat64(h.metrics.requests.WithLabelValues(deploySuccessPath, "499")); n != 1 {
		t.Errorf("%v requests counted as left by the client, want 1", n)
	}
}

// TestEnvironmentOnlyOnTheServer: the cache may be a moment behind.
func TestEnvironmentOnlyOnTheServer(t *testing.T) {
	tries := 0
	h := start(t, setup{objects: acme(trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Environment = "new" })),
		faults: interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			switch tries++; tries {
			case 1:
				return refusedConnection
			case 2: // the kind is not known yet, which says nothing of the object
				return apierrors.NewGenericServerResponse(404, "get", suitesResource, "new", "404 page not found", 0, true)
			}
			environmentNamed("new").DeepCopyInto(o.(*v1alpha1.Environment))
			return nil
		}}})
	if got := h.notify(withSHA).Results[0]; got.CreatedSuiteID == "" || tries != 3 {
		t.Errorf("%+v after %d reads, want a created run after 3", got, tries)
	}
}

func TestPausesGrowAndVary(t *testing.T) {
	h := start(t, setup{})
	hold := h.newHold(namespace, noon)
	var longest, shortest []time.Duration
	for n := range 8 {
		h.Jitter = func() float64 { return 1 }
		longest = append(longest, hold.pause(n, refusedConnection))
		h.Jitter = func() float64 { return 0 }
		shortest = append(shortest, hold.pause(n, refusedConnection))
	}
	for n := range longest {
		if shortest[n] != longest[n]/2 {
			t.Errorf("pause %d is from %s to %s, want the first to be half the second", n, shortest[n], longest[n])
		}
	}
	if longest[0] != 50*time.Millisecond || longest[7] != 2*time.Second {
		t.Errorf("pauses %v, want from 50ms to 2s", longest)
	}
}
