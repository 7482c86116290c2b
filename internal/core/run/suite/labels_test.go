package suite_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// TestDropLabels: a run whose labels the cache has dropped has the next attempt of one that has them all.
func TestDropLabels(t *testing.T) {
	spec := func(s *v1alpha1.Suite) {
		s.Spec.Trigger.Name, s.Spec.Environment, s.Spec.Deployment.SHA = "smoke", "staging", "0123456789abcdef"
	}
	implied := map[string]string{
		v1alpha1.LabelTrigger: "smoke", v1alpha1.LabelEnvironment: "staging", v1alpha1.LabelShortSHA: "0123456789ab",
	}
	team, others := maps.Clone(implied), map[string]string{
		v1alpha1.LabelTrigger: "x", v1alpha1.LabelEnvironment: "y", v1alpha1.LabelShortSHA: "z",
	}
	team["team"] = "shop"
	cases := map[string]struct {
		reason     string
		labels     map[string]string
		kept, next map[string]string
	}{
		"only implied": {"the spec says it all", implied, map[string]string{}, implied},
		"of people":    {"only the label has it", team, map[string]string{"team": "shop"}, team},
		"others":       {"a person wrote them", others, others, others},
		"none":         {"a person created it", nil, nil, implied},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := aSuite("smoke-1", 0, spec)
			s.Labels = tc.labels
			s = s.DeepCopy()
			before := suite.Rerun(s, "uid-smoke", 2, "by-hand").Labels
			suite.DropLabels(s)
			if diff := cmp.Diff(tc.kept, s.Labels); diff != "" {
				t.Errorf("%s: -want +kept\n%s", tc.reason, diff)
			}
			after := suite.Rerun(s, "uid-smoke", 2, "by-hand").Labels
			if diff := cmp.Diff(tc.next, after); diff != "" {
				t.Errorf("%s: -want +next\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the cache changes the next attempt:\n%s", diff)
			}
		})
	}
}
