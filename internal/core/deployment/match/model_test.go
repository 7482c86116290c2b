package match

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/test/tier"
)

// The values that the model draws from are few, so that Triggers and notifications meet often.
var (
	someBranches = []string{
		"", "main", "refs/heads/main", "refs/heads/", "release", "release/1", "release/1/2", "feature/a-x", "/", "/x", "x/", "!x", "*", "ünï",
	}
	someGlobs = []string{
		"main", "release/**", "!release/1", "feature/*-x", "*", "**", "!main", "refs/heads/main", "release/*", "**/1", "{main,release}/**",
		"re*", "/**", "/x", "**/", "release/**/2", `\!x`, `\*`, "?", "[mr]*/1", "{main,x/}", "release{,/**}", "ü*ï", "[", "x/{a", "!!x", "!", "",
	}
	someTypes        = []string{"", "staging", "production"}
	someRepositories = []string{"", "acme/shop", "Acme/Shop", "acme/web", "ACME/web"}
	someServices     = []string{"", "cart", "Cart", "checkout"}
	somePolicies     = []v1alpha1.PullRequestPolicy{"", "", v1alpha1.PullRequestOnly, v1alpha1.PullRequestNever, "Sometimes"}
	someExpressions  = []string{
		"", "", "", "true", "notification.variables['a'] == '1'", "notification.variables.a == '1' && notification.branch == 'main'",
		"notification.variables['a'] == '1' || has(notification.branch)", "!('a' in notification.variables)", "notification.brnch == ''",
		"'1' == notification.variables.a && notification.variables.b != '1'", "notification.variables.a == '1' && notification.variables.a == '2'",
	}
)

func anyTrigger(names []string) *rapid.Generator[*v1alpha1.Trigger] {
	few := func(t *rapid.T, label string, values []string) []string {
		return rapid.SliceOfN(rapid.SampledFrom(values), 0, 3).Draw(t, label)
	}
	return rapid.Custom(func(t *rapid.T) *v1alpha1.Trigger {
		drawn := trigger(rapid.SampledFrom(names).Draw(t, "name"))
		if rapid.IntRange(0, 9).Draw(t, "only scheduled") == 0 {
			scheduledOnly(drawn)
		}
		drawn.Spec.Paused = rapid.IntRange(0, 9).Draw(t, "paused") == 0
		drawn.Spec.Match = v1alpha1.TriggerMatch{
			Branches:        few(t, "branches", someGlobs),
			DeploymentTypes: few(t, "types", someTypes),
			Repositories:    few(t, "repositories", someRepositories),
			Services:        few(t, "services", someServices),
			PullRequest:     rapid.SampledFrom(somePolicies).Draw(t, "pullRequest"),
			Expression:      rapid.SampledFrom(someExpressions).Draw(t, "expression"),
		}
		return drawn
	})
}

var anyNotification = rapid.Custom(func(t *rapid.T) *notification.Notification {
	return &notification.Notification{
		Branch:         rapid.SampledFrom(someBranches).Draw(t, "branch"),
		DeploymentType: rapid.SampledFrom(someTypes).Draw(t, "type"),
		Repository:     rapid.SampledFrom(someRepositories).Draw(t, "repository"),
		Service:        rapid.SampledFrom(someServices).Draw(t, "service"),
		// 0 is the deployment of no pull request.
		PullRequestNumber: rapid.Int64Range(0, 2).Draw(t, "pullRequest"),
		Variables:         rapid.MapOf(rapid.SampledFrom([]string{"a", "b"}), rapid.SampledFrom([]string{"", "1", "2"})).Draw(t, "variables"),
	}
})

// TestIndexAgreesWithScan compares the index, after any series of changes, with a scan of all Triggers
// that compiles each of them.
func TestIndexAgreesWithScan(t *testing.T) {
	tier.PinRapid(t)
	names := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(t *rapid.T) {
		x, model := &Index{}, map[string]*v1alpha1.Trigger{}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				drawn := anyTrigger(names).Draw(t, "trigger")
				x.Set(drawn)
				model[drawn.Name] = drawn
			},
			"delete": func(t *rapid.T) {
				name := rapid.SampledFrom(names).Draw(t, "name")
				x.Delete(namespace, name)
				delete(model, name)
			},
			"match": func(t *rapid.T) {
				n := anyNotification.Draw(t, "notification")
				got := matchedBy(x, namespace, n)
				if diff := cmp.Diff(scan(names, model, n), got); diff != "" {
					t.Errorf("Match(%+v): -scan +index:\n%s", n, diff)
				}
				if diff := cmp.Diff(got, explained(t, x, len(model), n)); diff != "" {
					t.Errorf("Explain(%+v): -matched +explained:\n%s", n, diff)
				}
			},
		})
	})
}

func scan(names []string, model map[string]*v1alpha1.Trigger, n *notification.Notification) []*v1alpha1.Trigger {
	var matched []*v1alpha1.Trigger
	for _, name := range names {
		if stored, ok := model[name]; ok {
			if m, err := Compile(stored); err == nil && m.Matches(n) {
				matched = append(matched, stored)
			}
		}
	}
	return matched
}

// explained are the Triggers that Explain calls matched.
func explained(t *rapid.T, x *Index, count int, n *notification.Notification) []*v1alpha1.Trigger {
	var matched []*v1alpha1.Trigger
	explanations := slices.Collect(x.Explain(namespace, n, never))
	if len(explanations) != count {
		t.Errorf("Explain gave %d of %d Triggers", len(explanations), count)
	}
	for _, e := range explanations {
		if e.Matched != allHeld(e.Criteria) {
			t.Errorf("%s: matched is %t, by %+v", e.Trigger.Name, e.Matched, e.Criteria)
		}
		if e.Matched {
			matched = append(matched, e.Trigger)
		}
	}
	return matched
}
