package dispatch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func counted(name string, conditions ...metav1.Condition) *v1alpha1.Suite {
	return &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Status:     v1alpha1.SuiteStatus{Conditions: conditions},
	}
}

// TestSuiteCounter reserves one more Suite after some were created and deleted.
func TestSuiteCounter(t *testing.T) {
	a, passed := counted("a"), counted("a", v1alpha1.Passed(""))
	reserve := func(name string, now time.Time) func(*suiteCounter) {
		return func(c *suiteCounter) {
			_ = c.reserve(types.NamespacedName{Namespace: namespace, Name: name}, suiteBounds{9, 9}, now)
		}
	}
	observe := func(was, is *v1alpha1.Suite) func(*suiteCounter) {
		return func(c *suiteCounter) { c.observe(was, is) }
	}
	for name, tc := range map[string]struct {
		reason string
		steps  []func(*suiteCounter)
		bounds suiteBounds
		want   string // in the refusal
	}{
		"empty":                  {"", nil, suiteBounds{1, 1}, ""},
		"no limit":               {"", []func(*suiteCounter){observe(nil, a)}, suiteBounds{}, ""},
		"stored":                 {"", []func(*suiteCounter){observe(nil, a)}, suiteBounds{1, 0}, "maxSuites"},
		"unfinished":             {"", []func(*suiteCounter){observe(nil, a)}, suiteBounds{0, 1}, "maxUnfinishedSuites"},
		"ended":                  {"It is stored still.", []func(*suiteCounter){observe(nil, a), observe(a, passed)}, suiteBounds{0, 1}, ""},
		"ended, stored":          {"It is stored still.", []func(*suiteCounter){observe(nil, a), observe(a, passed)}, suiteBounds{1, 1}, "maxSuites"},
		"ended before the start": {"", []func(*suiteCounter){observe(nil, passed)}, suiteBounds{0, 1}, ""},
		"deleted":                {"", []func(*suiteCounter){observe(nil, a), observe(a, nil)}, suiteBounds{1, 1}, ""},
		"deleted after its end":  {"", []func(*suiteCounter){observe(nil, a), observe(a, passed), observe(passed, nil)}, suiteBounds{1, 1}, ""},
		"replaced":               {"The watch missed that it was deleted and made again.", []func(*suiteCounter){observe(nil, passed), observe(passed, a)}, suiteBounds{2, 1}, "maxUnfinishedSuites"},
		"being created":          {"The watch does not have it yet.", []func(*suiteCounter){reserve("a", noon)}, suiteBounds{0, 1}, "maxUnfinishedSuites"},
		"created":                {"It is counted once.", []func(*suiteCounter){reserve("a", noon), observe(nil, a)}, suiteBounds{2, 2}, ""},
		"created, counts":        {"It is counted once.", []func(*suiteCounter){reserve("a", noon), observe(nil, a)}, suiteBounds{1, 2}, "maxSuites"},
		"tried again":            {"The same Suite.", []func(*suiteCounter){reserve("a", noon), reserve("a", noon)}, suiteBounds{2, 2}, ""},
		"never came": {"It was deleted before the watch had it.",
			[]func(*suiteCounter){reserve("a", noon.Add(-reservationLasts-time.Second))}, suiteBounds{1, 1}, ""},
		"came late": {"The watch may lag.", []func(*suiteCounter){reserve("a", noon.Add(-reservationLasts+time.Second))}, suiteBounds{1, 1}, "maxSuites"},
		"released": {"It was not created.", []func(*suiteCounter){reserve("a", noon), func(c *suiteCounter) {
			c.release(client.ObjectKeyFromObject(a))
		}}, suiteBounds{1, 1}, ""},
		"another team's": {"", []func(*suiteCounter){func(c *suiteCounter) {
			other := counted("a")
			other.Namespace = "other"
			c.observe(nil, other)
		}}, suiteBounds{1, 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newSuiteCounter()
			for _, step := range tc.steps {
				step(c)
			}
			for what, err := range map[string]error{
				"full":    c.full(namespace, tc.bounds, noon),
				"reserve": c.reserve(types.NamespacedName{Namespace: namespace, Name: "one-more"}, tc.bounds, noon),
			} {
				if (err != nil) != (tc.want != "") || (err != nil && !strings.Contains(err.Error(), "("+tc.want+" of")) {
					t.Errorf("%s %s: %v, want %q", tc.reason, what, err, tc.want)
				}
			}
		})
	}
}

// TestSuiteCounterForgets: the counter keeps no empty namespaces.
func TestSuiteCounterForgets(t *testing.T) {
	c, s := newSuiteCounter(), counted("a")
	c.observe(nil, s)
	c.observe(s, nil)
	_ = c.full("read", suiteBounds{1, 1}, noon)
	key := types.NamespacedName{Namespace: "released", Name: "a"}
	if err := c.reserve(key, suiteBounds{1, 1}, noon); err != nil {
		t.Fatal(err)
	}
	c.release(key)
	if len(c.namespaces) != 0 {
		t.Errorf("%d namespaces are remembered", len(c.namespaces))
	}
}

// bound is a team with one Trigger that may have few unfinished Suites.
func bound(most int32, more ...client.Object) []client.Object {
	objects := acme(append(more, trigger("smoke"))...)
	objects[0].(*v1alpha1.Team).Spec.MaxUnfinishedSuites = &most
	return objects
}

func TestBeyondTheBound(t *testing.T) {
	h := start(t, setup{objects: bound(2)})
	body := func(i int) string { return fmt.Sprintf(`{"sha":"%d","branch":"%d"}`, i, i) } // each in a stream of its own
	var ids []string
	for i := range 2 {
		ids = append(ids, h.notify(body(i)).Triggers[0].created())
	}
	for i, id := range ids {
		for _, mode := range []func(*Request){createMode, dryRun} {
			if got := h.notify(body(i), mode).Triggers[0]; got.duplicate() != id || id == "" {
				t.Errorf("%+v, want a duplicate of %q", got, id)
			}
		}
	}
	want := "The team has as many runs that have not ended as it may have (maxUnfinishedSuites of its Team: 2), so no run was created. " +
		"Send the notification again once some have ended, or ask the operator of this service to raise maxUnfinishedSuites."
	for _, mode := range []func(*Request){createMode, dryRun} {
		if got := h.notify(`{"sha":"one-more"}`, mode).Triggers[0]; got.Reason != want {
			t.Errorf("got %+v, want the reason %q", got, want)
		}
	}
	if n := len(h.suites()); n != 2 {
		t.Errorf("%d Suites, want 2", n)
	}
}

// TestBoundOfOneNotification: a notification that matches more Triggers than the team may have Suites
// gets as many as there is room for.
func TestBoundOfOneNotification(t *testing.T) {
	h := start(t, setup{objects: bound(3, trigger("a"), trigger("b"), trigger("c"), trigger("d"))})
	letters := map[string]int{}
	for _, r := range h.notify(withSHA).Triggers {
		letters[letter(r)]++
	}
	if letters["c"] != 3 || letters["f"] != 2 || len(h.suites()) != 3 {
		t.Errorf("got %v and %d Suites, want 3 created and 2 failed", letters, len(h.suites()))
	}
}

// TestRefusedSuiteIsNotCounted: a Suite that the API server rejected does not count.
func TestRefusedSuiteIsNotCounted(t *testing.T) {
	h := start(t, setup{objects: bound(1), creates: repeat(5, fault{err: quotaUsedUp})})
	for i := range 5 {
		if got := h.notify(fmt.Sprintf(`{"sha":"%d"}`, i)).Triggers[0]; !strings.Contains(got.Reason, "quota") {
			t.Fatalf("%+v, want the quota as the reason", got)
		}
	}
	if got := h.notify(withSHA).Triggers[0]; got.created() == "" {
		t.Errorf("%+v, want a run", got)
	}
}

// TestBoundOfEphemeralEnvironments: a team that can have no more runs gets no more Environments either, even for new
// deployment URLs.
func TestBoundOfEphemeralEnvironments(t *testing.T) {
	h := start(t, setup{objects: bound(1)})
	body := func(i int) string {
		return fmt.Sprintf(`{"sha":"a","ephemeral_environment":true,"deployment_url":"https://pr-%d.example.com"}`, i)
	}
	id := h.notify(body(0)).Triggers[0].created()
	for i := range 3 {
		if got := h.notify(body(1 + i)).Triggers[0]; !strings.Contains(got.Reason, "maxUnfinishedSuites") {
			t.Errorf("%+v, want a failure_reason", got)
		}
	}
	if got := h.notify(body(0)).Triggers[0]; got.duplicate() != id || id == "" {
		t.Errorf("%+v, want a duplicate of %q", got, id)
	}
	if n := len(h.environments()); n != 2 {
		t.Errorf("%d Environments, want staging and one that derives from it", n)
	}
}
