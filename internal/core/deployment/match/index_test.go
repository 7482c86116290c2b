package match

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/test/tier"
)

func TestIndex(t *testing.T) {
	x := &Index{}
	main := &notification.Notification{Branch: "main", DeploymentType: "staging", Repository: "acme/shop"}
	expect := func(reason string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, matchedNames(x, main)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", reason, diff)
		}
	}

	expect("an empty index matches nothing")
	x.Delete(namespace, "none")
	x.Set(trigger("c", branches("main", "ma*", "**")))
	x.Set(trigger("a", branches("main", "main/**")))
	x.Set(trigger("b"))
	x.Set(trigger("d", deploymentTypes("staging"), repositories("acme/shop")))
	x.Set(trigger("e", branches("develop")))
	x.Set(trigger("f", deploymentTypes("staging")))
	x.Set(trigger("g", repositories("Acme/Shop", "ACME/shop", "acme/web")))
	expect("each matches once, ordered by name", "a", "b", "c", "d", "f", "g")
	x.Delete(namespace, "g")
	x.Set(trigger("e", branches("main")))
	x.Set(trigger("a", branches("develop")))
	expect("a changed Trigger matches by its new conditions only", "b", "c", "d", "e", "f")
	x.Set(trigger("b", paused))
	x.Delete(namespace, "c")
	expect("paused and deleted ones do not match", "d", "e", "f")
	for _, name := range []string{"a", "b", "d", "e", "f", "f"} {
		x.Delete(namespace, name)
	}
	expect("nothing is left")
	if len(x.namespaces) != 0 {
		t.Errorf("the empty namespace is kept: %v", x.namespaces)
	}
}

func matchedNames(x *Index, n *notification.Notification) []string {
	var names []string
	for _, matched := range matchedBy(x, namespace, n) {
		names = append(names, matched.Name)
	}
	return names
}

func TestIndexKeepsNamespacesApart(t *testing.T) {
	x := &Index{}
	other := trigger("other")
	other.Namespace = "other"
	x.Set(other)
	n := &notification.Notification{}
	if got := matchedBy(x, namespace, n); got != nil {
		t.Errorf("matched %v of another namespace", got)
	}
	if got := slices.Collect(x.Explain(namespace, n, never)); len(got) != 0 {
		t.Errorf("explained %v of another namespace", got)
	}
	x.Delete(namespace, "other")
	if got := matchedBy(x, "other", n); len(got) != 1 || got[0] != other {
		t.Errorf("got %v, want what was set", got)
	}
}

func TestIndexKeepsBrokenTriggers(t *testing.T) {
	x := &Index{}
	n := &notification.Notification{Branch: "main"}
	x.Set(trigger("broken", branches("["), expressionOf("true")))
	x.Set(trigger("fine", branches("main")))
	if diff := cmp.Diff([]string{"fine"}, matchedNames(x, n)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := problemOf(x, namespace, "broken"); err == nil || !strings.Contains(err.Error(), "not a valid glob") {
		t.Errorf("the problem is %v", err)
	}
	for _, name := range []string{"fine", "unknown"} {
		if err := problemOf(x, namespace, name); err != nil {
			t.Errorf("the problem of %s is %v", name, err)
		}
	}
	if err := problemOf(x, "unknown", "broken"); err != nil {
		t.Errorf("the problem of another namespace is %v", err)
	}
	explanations := slices.Collect(x.Explain(namespace, n, never))
	if len(explanations) != 2 || explanations[0].Trigger.Name != "broken" || explanations[0].Matched || !explanations[1].Matched {
		t.Fatalf("got %+v", explanations)
	}
	if c := explanations[0].Criteria; len(c) != 1 || c[0].Name != "branches" || c[0].Held || !strings.Contains(c[0].Message, "not a valid glob") {
		t.Errorf("the broken one is explained by %+v", c)
	}
	x.Set(trigger("broken", branches("main")))
	if diff := cmp.Diff([]string{"broken", "fine"}, matchedNames(x, n)); diff != "" || problemOf(x, namespace, "broken") != nil {
		t.Errorf("a repaired Trigger does not match: -want +got:\n%s", diff)
	}
}

// TestIndexCompilesOncePerGeneration: if nothing is compiled, the conditions of the first object stay in force.
func TestIndexCompilesOncePerGeneration(t *testing.T) {
	stored := func(uid string, generation int64, o option) *v1alpha1.Trigger {
		t := trigger("t", o)
		t.UID, t.Generation = types.UID(uid), generation
		return t
	}
	tests := map[string]struct {
		reason     string
		uid        string
		generation int64
		want       bool
	}{
		"same":        {reason: "the same generation is not compiled again", uid: "1", generation: 1, want: true},
		"changed":     {reason: "another generation is", uid: "1", generation: 2},
		"replaced":    {reason: "so is another object of the name", uid: "2", generation: 1},
		"not stored":  {reason: "and one without a generation", uid: "1", generation: 0},
		"no identity": {reason: "and one without an identity", uid: "", generation: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			x := &Index{}
			x.Set(stored("1", 1, branches("main")))
			latest := stored(tc.uid, tc.generation, branches("develop"))
			x.Set(latest)
			matched := matchedBy(x, namespace, &notification.Notification{Branch: "main"})
			if got := len(matched) == 1; got != tc.want {
				t.Errorf("%s: matched %v", tc.reason, matched)
			}
			if tc.want && matched[0] != latest {
				t.Error("the latest object is not the one that is returned")
			}
		})
	}
}

// TestIndexIsSafeForConcurrentUse is for the race detector. It also checks that a Trigger that does not change is
// always found.
func TestIndexIsSafeForConcurrentUse(t *testing.T) {
	x := &Index{}
	x.Set(trigger("always", branches("main")))
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 200 {
				name := fmt.Sprintf("t-%d-%d", worker, i%7)
				x.Set(trigger(name, branches("main", "release/**")))
				if names := matchedNames(x, &notification.Notification{Branch: "main"}); !slices.Contains(names, "always") || !slices.IsSorted(names) {
					t.Errorf("got %v", names)
				}
				for range x.Explain(namespace, &notification.Notification{}, never) {
				}
				x.Delete(namespace, name)
			}
		})
	}
	group.Wait()
}

// TestIndexTriesFew counts the candidates. Few of them make a team of 10,000 Triggers as fast as one of 10,
// on any machine.
func TestIndexTriesFew(t *testing.T) {
	count := 2000
	if tier.Gate() {
		count = 1000 // 1 % are more than the few that share a repository, or a value
	}
	for name, mix := range mixes {
		t.Run(name, func(t *testing.T) {
			x := &Index{}
			for i := range count {
				x.Set(trigger(fmt.Sprintf("t-%d", i), mix.trigger(i)))
			}
			for x.CompileNext() {
			}
			tried := 0
			for _, bucket := range x.candidates(namespace, newActivation(mix.notification)) {
				tried += len(bucket)
			}
			if tried > count*mix.triedPercent/100 {
				t.Errorf("tries %d of %d Triggers", tried, count)
			}
		})
	}
}
