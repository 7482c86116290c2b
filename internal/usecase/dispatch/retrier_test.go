package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/transfer"
)

// TestUnknownBesideKnown: when the budget ends, the outcome of one Trigger is still unknown.
func TestUnknownBesideKnown(t *testing.T) {
	onlyFor := func(name string, err error) interceptor.Funcs {
		return interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if s, ok := o.(*v1alpha1.Suite); ok && s.Spec.Trigger.Name == name {
				return err
			}
			return c.Create(ctx, o, opts...)
		}}
	}
	t.Run("a run is known", func(t *testing.T) {
		h := start(t, setup{objects: acme(trigger("a"), trigger("b")), faults: onlyFor("b", refusedConnection)})
		got := h.notify(withSHA).Triggers
		if got[0].created() == "" || !strings.Contains(got[1].Reason, "not known whether a run was created") {
			t.Errorf("got %+v, want the created run, and a reason that promises nothing", got)
		}
	})
	t.Run("no run is known", func(t *testing.T) {
		h := start(t, setup{objects: acme(trigger("a", inNowhere), trigger("b")), faults: onlyFor("b", refusedConnection)})
		got, err := h.dispatch(withSHA)
		if letters := letter(got.Triggers[0]) + letter(got.Triggers[1]); !strings.HasPrefix(says(got, err), "unavailable: ") || letters != "fu" {
			t.Errorf("%s and %s, want unavailable with both results", says(got, err), letters)
		}
	})
}

// TestVanished: the Suite that has the name is deleted between the create and the get.
func TestVanished(t *testing.T) {
	cases := map[string]struct {
		times  int
		starts string
	}{"once": {1, "created"}, "always": {1000, "namespace_gone"}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			exists := apierrors.NewAlreadyExists(suitesResource, "x")
			h := start(t, setup{objects: acme(trigger("smoke")), creates: repeat(tc.times, fault{err: exists})})
			if got := says(h.dispatch(withSHA)); !strings.HasPrefix(got, tc.starts+": ") {
				t.Errorf("%s, want %s", got, tc.starts)
			}
		})
	}
}

// TestSlow: every call takes longer than the first attempt may. The create that is cut off succeeds nevertheless.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = 150 * time.Millisecond
		creates := 0
		h := start(t, setup{objects: acme(trigger("smoke")), limits: func(l *Limits) { l.AttemptTimeout = 100 * time.Millisecond },
			faults: interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					creates++
					err := c.Create(context.WithoutCancel(ctx), o, opts...)
					return errors.Join(transfer.Sleep(ctx, slow), err)
				},
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if err := transfer.Sleep(ctx, slow); err != nil {
						return err
					}
					return c.Get(ctx, key, o, opts...)
				},
			}})
		if got := h.notify(withSHA).Triggers[0]; got.created() == "" || creates != 2 {
			t.Errorf("%+v after %d creates, want it created after 2", got, creates)
		}
	})
}

func TestRetriesAreBounded(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke")), creates: repeat(1000, fault{err: refusedConnection}), limits: func(l *Limits) { l.Retrying = 0 }})
	got := says(h.dispatch(withSHA))
	if !strings.HasPrefix(got, "overloaded: ") || strings.Contains(got, "did not answer within") || h.faults.seen != 1 {
		t.Errorf("%s after %d tries; want overloaded after 1, since nothing was waited for", got, h.faults.seen)
	}
}

func TestClientThatLeavesIsNotWaitedFor(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	h := start(t, setup{objects: acme(trigger("smoke")), creates: repeat(1000, fault{err: refusedConnection}),
		config: func(c *Config) {
			c.Sleep = func(ctx context.Context, _ time.Duration) error { leave(); return ctx.Err() }
		}})
	_, _ = h.dispatchIn(ctx, withSHA)
	if h.faults.seen != 1 {
		t.Errorf("%d tries, want 1", h.faults.seen)
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
			case 2: // the API server does not have the kind yet, so the object may exist
				return apierrors.NewGenericServerResponse(404, "get", suitesResource, "new", "404 page not found", 0, true)
			}
			environmentNamed("new").DeepCopyInto(o.(*v1alpha1.Environment))
			return nil
		}}})
	if got := h.notify(withSHA).Triggers[0]; got.created() == "" || tries != 3 {
		t.Errorf("%+v after %d reads, want a created run after 3", got, tries)
	}
}

func TestPausesGrowAndVary(t *testing.T) {
	h := start(t, setup{})
	r := newRetrier(h.Dispatcher, namespace, noon)
	var longest, shortest []time.Duration
	for n := range 8 {
		h.Jitter = func() float64 { return 1 }
		longest = append(longest, r.pause(n, refusedConnection))
		h.Jitter = func() float64 { return 0 }
		shortest = append(shortest, r.pause(n, refusedConnection))
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
