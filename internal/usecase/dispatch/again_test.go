package dispatch

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// TestNotifiedAgain: a commit that is notified again while its run continues is what is deployed. A run of a notification that was
// received in between, and was held while the API server was unavailable, must not supersede it.
func TestNotifiedAgain(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	id := h.notify(`{"branch":"main","sha":"a"}`).Triggers[0].created()
	h.clock.Step(time.Second)
	held := h.request(`{"branch":"main","sha":"b"}`)
	h.clock.Step(time.Second)
	if got := h.notify(`{"branch":"main","sha":"a"}`).Triggers[0]; got.duplicate() != id {
		t.Fatalf("%+v, want a duplicate of %s", got, id)
	}
	if _, err := h.Dispatch(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	var a, b *v1alpha1.Suite
	for _, s := range h.suites() {
		s.CreationTimestamp = metav1.NewTime(h.clock.Now()) // which the fake API server does not set
		if s.Name == id {
			a = &s
		} else {
			b = &s
		}
	}
	if ledger.Compare(a, b) <= 0 {
		t.Errorf("%s, notified again at %v, counts as older than %s, received at %v", a.Name, ledger.Last(a), b.Name, ledger.Last(b))
	}
}

// TestDeployedAgain: the result of a run answers later deployments of its commit, and the run remembers the last one. Whether another
// commit came in between may not be known yet. A notification that is sent again writes nothing.
func TestDeployedAgain(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	notify := func(sha string) (id string) {
		h.clock.Step(time.Second)
		h.notify(`{"branch":"main","sha":"` + sha + `"}`)
		for _, s := range h.suites() {
			if s.Spec.Deployment.SHA == sha {
				id = s.Name
			}
			if !s.Finished() {
				s.Status.Conditions = []metav1.Condition{v1alpha1.Passed("")}
				if err := h.cluster.Status().Update(t.Context(), &s); err != nil {
					t.Fatal(err)
				}
			}
		}
		return id
	}
	remembered := func(id string) *metav1.MicroTime {
		for _, s := range h.suites() {
			if s.Name == id {
				return s.Status.AnsweredAgainAt
			}
		}
		return nil
	}
	first := notify("a")
	for i, sha := range []string{"a", "b", "a", "a"} {
		notify(sha)
		if at := remembered(first); sha == "a" && (at == nil || !at.Time.Equal(h.clock.Now())) {
			t.Errorf("deployment %d of a is not remembered: %v", i, at)
		}
	}
	for _, k := range []string{"k", "l", "m"} {
		h.clock.Step(time.Second)
		h.notify(`{"branch":"main","sha":"a"}`, key(k))
	}
	at := remembered(first)
	notify("c")
	for _, k := range []string{"k", "l", "m"} {
		h.clock.Step(time.Second)
		if h.notify(`{"branch":"main","sha":"a"}`, key(k)); !remembered(first).Equal(at) {
			t.Errorf("%s was sent again, and is no deployment: %v, %v", k, at, remembered(first))
		}
	}
}

// TestOneNotification: a client that got no answer sends the same notification again, possibly to a replica that knows less or more
// than the first. Whatever happens between the two requests, there is one run.
func TestOneNotification(t *testing.T) {
	const a, b = `{"branch":"main","sha":"a"}`, `{"branch":"main","sha":"b"}`
	for name, tc := range map[string]struct {
		reason  string
		between func(h *harness) // the requests of the second notification of a
		want    string           // a letter for each of the two requests
	}{
		"nothing happened":        {reason: "The run continues.", want: "dd"},
		"another commit followed": {reason: "It is the older notification.", between: func(h *harness) { h.notify(b) }, want: "dd"},
		"a third followed":        {reason: "It has an attempt of its own.", between: func(h *harness) { h.notify(b); h.notify(a, key("third")) }, want: "dd"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(trigger("smoke"))})
			h.notify(a, key("first"))
			h.clock.Step(time.Second)
			one := h.notify(a, key("second")).Triggers[0]
			h.clock.Step(time.Second)
			if tc.between != nil {
				tc.between(h)
			}
			h.clock.Step(time.Second)
			two := h.notify(a, key("second")).Triggers[0]
			if got := letter(one) + letter(two); got != tc.want || one.SuiteID != two.SuiteID {
				t.Errorf("%s got %s: %+v and %+v", tc.reason, got, one, two)
			}
		})
	}
}

// TestReplicasAgreeOnAttempt: one replica has seen the newer run, and starts another attempt. One that has not comes to the same.
func TestReplicasAgreeOnAttempt(t *testing.T) {
	lagging := &lagging{}
	h := start(t, setup{objects: acme(trigger("smoke")), config: func(c *Config) { lagging.Reader, c.Cache = c.Cache, lagging }})
	h.notify(`{"branch":"main","sha":"a"}`, key("first"))
	h.clock.Step(time.Second)
	h.notify(`{"branch":"main","sha":"b"}`)
	h.clock.Step(time.Second)
	second := h.notify(`{"branch":"main","sha":"a"}`, key("second")).Triggers[0].created()
	lagging.only = "a"
	if got := h.notify(`{"branch":"main","sha":"a"}`, key("second")).Triggers[0]; second == "" || got.duplicate() != second {
		t.Errorf("%+v, want a duplicate of %q", got, second)
	}
}

// TestResultBeforeARerun: a rerun has begun, the cache has only the result before it, and that is the answer to no other notification.
func TestResultBeforeARerun(t *testing.T) {
	lagging := &lagging{}
	h := start(t, setup{objects: acme(trigger("smoke")), config: func(c *Config) { lagging.Reader, c.Cache = c.Cache, lagging }})
	const a = `{"branch":"main","sha":"a"}`
	first := h.notify(a, key("first")).Triggers[0].created()
	h.finish(first, first, "Passed")
	rerun := h.notify(a, key("rerun"), func(r *Request) { r.Rerun = true }).Triggers[0].created()
	lagging.only = "a"
	for k, want := range map[string]string{"first": first, "rerun": rerun, "another": rerun, "": rerun} {
		if got := h.notify(a, key(k)).Triggers[0]; want == "" || got.duplicate() != want {
			t.Errorf("with the key %q: %+v, want a duplicate of %q", k, got, want)
		}
	}
}

// lagging is a cache that has only the first attempt of one commit.
type lagging struct {
	client.Reader
	only string
}

func (l *lagging) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := l.Reader.List(ctx, list, options...); err != nil || l.only == "" {
		return err
	}
	if suites, ok := list.(*v1alpha1.SuiteList); ok {
		suites.Items = slices.DeleteFunc(suites.Items, func(s v1alpha1.Suite) bool {
			return s.Spec.Deployment.SHA != l.only || s.Spec.Attempt > 1
		})
	}
	return nil
}

// TestSentAgainLate: the first notification of a commit is sent again after the second has got an attempt.
func TestSentAgainLate(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	first := h.notify(`{"branch":"main","sha":"a"}`, key("first")).Triggers[0].created()
	for _, sha := range []string{"b", "a", "c"} {
		h.clock.Step(time.Second)
		h.notify(`{"branch":"main","sha":"`+sha+`"}`, key("later "+sha))
	}
	if got := h.notify(`{"branch":"main","sha":"a"}`, key("first")).Triggers[0]; got.duplicate() != first {
		t.Errorf("%+v, want a duplicate of %s", got, first)
	}
}

// TestNotifiedAgainWritesNothing: a repetition of one notification is not a newer one, and a dry run changes nothing.
func TestNotifiedAgainWritesNothing(t *testing.T) {
	writes := 0
	count := interceptor.Funcs{SubResourcePatch: func(
		ctx context.Context, c client.Client, resource string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption,
	) error {
		writes++
		return c.SubResource(resource).Patch(ctx, o, p, options...)
	}}
	for name, tc := range map[string]struct {
		change func(*Request)
		want   int
	}{
		"anew":                     {key("l"), 1},
		"with the Idempotency-Key": {key("k"), 0},
		"in a dry run":             {func(r *Request) { r.IdempotencyKey, r.Mode = "l", DryRun }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{objects: acme(trigger("smoke")), faults: count})
			h.notify(withSHA, key("k"))
			h.clock.Step(time.Second)
			writes = 0
			if got := h.notify(withSHA, tc.change).Triggers[0]; got.Decision != Duplicate {
				t.Errorf("%+v, want a duplicate", got)
			}
			if writes != tc.want {
				t.Errorf("%d writes, want %d", writes, tc.want)
			}
		})
	}
}

// TestNotifiedAgainTooLate: between the look at a run and the write, the run is superseded, ends, or is deleted. The notification must
// not be answered with what is no longer true.
func TestNotifiedAgainTooLate(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(t *testing.T, h *harness, s *v1alpha1.Suite)
		want   Decision
	}{
		"superseded": {"It has no result, and the commit must be tested.", func(t *testing.T, h *harness, s *v1alpha1.Suite) {
			s.Status.SupersededBy = "newer"
			h.updateStatus(s)
		}, Created},
		"passed": {"Its result is that of the commit.", func(t *testing.T, h *harness, s *v1alpha1.Suite) {
			s.Status.Conditions, s.Status.CompletionTime = []metav1.Condition{v1alpha1.Passed("")}, new(metav1.NewTime(noon))
			h.updateStatus(s)
		}, Duplicate},
		"deleted": {"The commit must be tested.", func(t *testing.T, h *harness, s *v1alpha1.Suite) {
			if err := h.cluster.Delete(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}, Created},
		"moved on": {"It still continues.", func(t *testing.T, h *harness, s *v1alpha1.Suite) {
			s.Status.Conditions = []metav1.Condition{v1alpha1.Running("")}
			h.updateStatus(s)
		}, Duplicate},
	} {
		t.Run(name, func(t *testing.T) {
			var h *harness
			raced := false
			h = start(t, setup{objects: acme(trigger("smoke")), faults: interceptor.Funcs{SubResourcePatch: func(
				ctx context.Context, c client.Client, resource string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption,
			) error {
				if !raced {
					raced = true
					tc.change(t, h, &h.suites()[0])
				}
				return c.SubResource(resource).Patch(ctx, o, p, options...)
			}}})
			first := h.notify(withSHA).Triggers[0].created()
			h.clock.Step(time.Second)
			got := h.notify(withSHA).Triggers[0]
			if !raced || got.Decision != tc.want || (got.Decision == Created) == (got.SuiteID == first) {
				t.Errorf("%s got %+v", tc.reason, got)
			}
		})
	}
}

func (h *harness) updateStatus(s *v1alpha1.Suite) {
	h.t.Helper()
	if err := h.cluster.Status().Update(h.t.Context(), s); err != nil {
		h.t.Fatal(err)
	}
}
