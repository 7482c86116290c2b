package trust_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/access/trust"
)

func TestDecide(t *testing.T) {
	reads := spec(func(s *v1alpha1.TrustPolicySpec) { s.Allow = v1alpha1.TrustAllow{Read: true} })
	staging := spec(func(s *v1alpha1.TrustPolicySpec) { s.Allow.Notify.DeploymentTypes = []string{"staging"} })
	other := claim("repository_id", "1")
	notify := []grant.Action{grant.Notify}
	many := func(n int, change ...func(*v1alpha1.TrustPolicy)) (all []*v1alpha1.TrustPolicy) {
		for i := range n {
			all = append(all, policy(fmt.Sprintf("p%03d", i), append(change, expression("claims.ref == 'x'"))...))
		}
		return all
	}
	for name, tc := range map[string]struct {
		policies []*v1alpha1.TrustPolicy
		asked    trust.Asked
		want     string // namespace/name; or part of the problem
	}{
		"none":                             {nil, trust.Asked{}, "Set POSTFLIGHT_TEAM to the name of your Team"},
		"none of the team":                 {nil, trust.Asked{Team: "acme"}, "No TrustPolicy of the Team acme matches"},
		"none of the name":                 {[]*v1alpha1.TrustPolicy{policy("a")}, trust.Asked{Team: "acme", Policy: "b"}, "No TrustPolicy b of the Team acme matches"},
		"one":                              {[]*v1alpha1.TrustPolicy{policy("a")}, trust.Asked{Actions: notify}, "acme/a"},
		"one of two":                       {[]*v1alpha1.TrustPolicy{policy("a", other), policy("b")}, trust.Asked{Actions: notify}, "acme/b"},
		"others of another team":           {[]*v1alpha1.TrustPolicy{policy("a", in("shop"), other), policy("b")}, trust.Asked{Actions: notify}, "acme/b"},
		"two teams":                        {[]*v1alpha1.TrustPolicy{policy("a", in("shop")), policy("b")}, trust.Asked{Actions: notify}, "TrustPolicies of several Teams match"},
		"two teams, one does not allow it": {[]*v1alpha1.TrustPolicy{policy("a", in("shop"), reads), policy("b")}, trust.Asked{Actions: notify}, "TrustPolicies of several Teams match"},
		"two that allow the same":          {[]*v1alpha1.TrustPolicy{policy("b"), policy("a")}, trust.Asked{Actions: notify}, "acme/a"},
		"two, one allows it":               {[]*v1alpha1.TrustPolicy{policy("a", reads), policy("b")}, trust.Asked{Actions: notify}, "acme/b"},
		"two, none allows it":              {[]*v1alpha1.TrustPolicy{policy("a", reads), policy("b", reads)}, trust.Asked{Actions: notify}, "acme/a"},
		"two that differ":                  {[]*v1alpha1.TrustPolicy{policy("a", staging), policy("b")}, trust.Asked{Actions: notify}, "The TrustPolicies a, b of the Team match"},
		"two that differ, one is named":    {[]*v1alpha1.TrustPolicy{policy("a", staging), policy("b")}, trust.Asked{Team: "acme", Policy: "b", Actions: notify}, "acme/b"},
		"nothing is asked":                 {[]*v1alpha1.TrustPolicy{policy("a", reads)}, trust.Asked{}, "acme/a"},
		"as many expressions as allowed":   {append(many(63), policy("z", expression("claims.ref == 'refs/heads/main'"))), trust.Asked{}, "acme/z"},
		"more expressions":                 {append(many(64), policy("z", expression("true"))), trust.Asked{}, "Too many TrustPolicies might match"},
		"more expressions of the team":     {append(many(64), policy("z", expression("true"))), trust.Asked{Team: "acme"}, "more than 64 TrustPolicies with an expression"},
		"expressions of others":            {append(many(500, other), policy("z", expression("true"))), trust.Asked{}, "acme/z"},
		"many expressions, one is named":   {append(many(500), policy("z", expression("true"))), trust.Asked{Team: "acme", Policy: "z"}, "acme/z"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(parse(t, ofGitHub()), tc.policies, tc.asked)
			got := d.Problem
			if d.Policy != nil {
				got = d.Policy.Namespace + "/" + d.Policy.Name + d.Problem
			}
			if d.Policy != nil && got != tc.want || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestSeveralPolicies: what one of them allows, the sender may do, within the bounds of that one.
func TestSeveralPolicies(t *testing.T) {
	allow := func(change func(*v1alpha1.TrustAllow)) func(*v1alpha1.TrustPolicy) {
		return spec(func(s *v1alpha1.TrustPolicySpec) { change(&s.Allow) })
	}
	staging := allow(func(a *v1alpha1.TrustAllow) { a.Notify.DeploymentTypes = []string{"staging"} })
	production := allow(func(a *v1alpha1.TrustAllow) { a.Notify.DeploymentTypes = []string{"production"}; a.Upload = true })
	reads := allow(func(a *v1alpha1.TrustAllow) { *a = v1alpha1.TrustAllow{Read: true, Act: true} })
	within := func(environment string, act bool) func(*v1alpha1.TrustPolicy) {
		return allow(func(a *v1alpha1.TrustAllow) {
			*a = v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{Environments: []string{environment}}, Act: act}
		})
	}
	notify, act, both := []grant.Action{grant.Notify}, []grant.Action{grant.Act}, []grant.Action{grant.Notify, grant.Act}
	for name, tc := range map[string]struct {
		policies []*v1alpha1.TrustPolicy
		actions  []grant.Action
		want     []grant.Action
		types    []string
		policy   string
		acts     []string // the Environments that Act is bounded to
	}{
		"notify and read":    {[]*v1alpha1.TrustPolicy{policy("a", reads), policy("b", staging)}, grant.Actions, []grant.Action{grant.Notify, grant.Read, grant.Act}, []string{"staging"}, "a", nil},
		"to notify":          {[]*v1alpha1.TrustPolicy{policy("a", reads), policy("b", staging)}, []grant.Action{grant.Notify}, []grant.Action{grant.Notify, grant.Read, grant.Act}, []string{"staging"}, "b", nil},
		"to act":             {[]*v1alpha1.TrustPolicy{policy("a", staging), policy("b", reads)}, []grant.Action{grant.Act}, []grant.Action{grant.Notify, grant.Read, grant.Act}, []string{"staging"}, "b", nil},
		"unclear, to read":   {[]*v1alpha1.TrustPolicy{policy("a", staging), policy("b", production), policy("c", reads)}, []grant.Action{grant.Read}, []grant.Action{grant.Upload, grant.Read, grant.Act}, nil, "c", nil},
		"unclear, who":       {[]*v1alpha1.TrustPolicy{policy("a", staging), policy("b", production)}, grant.Actions, []grant.Action{grant.Upload}, nil, "a", nil},
		"unclear, to notify": {[]*v1alpha1.TrustPolicy{policy("a", staging), policy("b", production)}, []grant.Action{grant.Notify}, nil, nil, "", nil},

		"act, and notify elsewhere": {[]*v1alpha1.TrustPolicy{policy("a", within("preview", true)), policy("b", within("production", false))}, act, act, nil, "a", []string{"preview"}},
		"act, which the other lacks": {[]*v1alpha1.TrustPolicy{policy("a", within("preview", false)), policy("b", reads)}, act,
			[]grant.Action{grant.Notify, grant.Read, grant.Act}, nil, "b", nil},
		"act in the same":        {[]*v1alpha1.TrustPolicy{policy("a", within("preview", true)), policy("b", within("preview", true))}, act, both, nil, "a", []string{"preview"}},
		"unclear, to act":        {[]*v1alpha1.TrustPolicy{policy("a", within("preview", true)), policy("b", within("production", true))}, act, nil, nil, "", nil},
		"unclear, to act at all": {[]*v1alpha1.TrustPolicy{policy("a", within("preview", true)), policy("b", reads)}, act, nil, nil, "", nil},
		"unclear acts, who":      {[]*v1alpha1.TrustPolicy{policy("a", within("preview", true)), policy("b", reads)}, grant.Actions, []grant.Action{grant.Notify, grant.Read}, nil, "a", nil},
		"unclear acts, notify":   {[]*v1alpha1.TrustPolicy{policy("a", within("preview", true)), policy("b", reads)}, notify, []grant.Action{grant.Notify, grant.Read}, nil, "a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(parse(t, ofGitHub()), tc.policies, trust.Asked{Actions: tc.actions})
			got := ""
			if d.Policy != nil {
				got = d.Policy.Name
			}
			if got != tc.policy || !slices.Equal(d.Grant.Actions, tc.want) || !slices.Equal(d.Grant.DeploymentTypes, tc.types) ||
				!slices.Equal(d.Grant.Acts.Environments, tc.acts) {
				t.Errorf("%q %+v %q", got, d.Grant, d.Problem)
			}
		})
	}
}

// TestSentences: the sender learns about its own token only.
func TestSentences(t *testing.T) {
	secret := policy("secret-name", claim("repository_id", "31337"), expression("claims.ref == 'refs/heads/secret-branch'"))
	for name, tc := range map[string]struct {
		claims object
		want   []string
	}{
		"GitHub": {ofGitHub(), []string{github, "repository_id=4711", "repository_owner_id=12", "ref=refs/heads/main", "environment=staging", "event_name=push", "aud=postflight"}},
		"GitLab": {ofGitLab(), []string{gitlab, "project_id=22", "ref_path=refs/heads/main", "ref_protected=true", "pipeline_source=push"}},
		"other":  {object{"iss": "https://ci.example.com", "aud": "postflight", "sub": "job-1", "exp": 1}, []string{"https://ci.example.com", "aud=postflight", "sub=job-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, team := range []string{"", "acme"} {
				d := decide(parse(t, tc.claims), []*v1alpha1.TrustPolicy{secret}, trust.Asked{Team: team})
				for _, want := range tc.want {
					if !strings.Contains(d.Problem, want) {
						t.Errorf("%q lacks %q", d.Problem, want)
					}
				}
				for _, hidden := range []string{"secret", "31337", "acme/secret-name", "anna", "exp="} {
					if strings.Contains(d.Problem, hidden) {
						t.Errorf("%q has %q", d.Problem, hidden)
					}
				}
			}
		})
	}
}
