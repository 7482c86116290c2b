package trust

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
)

// maxExpressions bounds the expressions that a request evaluates, of a few milliseconds each: others write the policies, and everybody
// gets tokens of GitHub.
const maxExpressions = 64

// maxReasons bounds those that a Decision keeps for the audit log.
const maxReasons = 8

// Decision says which policy lets the sender of a token in.
type Decision struct {
	Policy *v1alpha1.TrustPolicy // nil: none
	Grant  grant.Grant

	Problem string   // a sentence for the sender, if none does
	Reasons []string // why policies do not, for operators only: they tell about policies of others
}

// Asked is what the sender asks for.
type Asked struct {
	Team    string // for the sentence; empty if the request names none
	Policy  string // no other policy counts; empty: any
	Actions []grant.Action
}

// Decide picks a policy. All are of namespaces that one Team owns: the asked one, or those for which the operator lists the repository of
// the token. The function compile is Compile, and may remember what it returned.
func Decide(c *Claims, policies []*v1alpha1.TrustPolicy, asked Asked, compile func(*v1alpha1.TrustPolicy) (*Policy, error)) Decision {
	var d Decision
	var matching []*v1alpha1.TrustPolicy
	evaluated := 0
	for _, p := range inOrder(policies) {
		if asked.Policy != "" && p.Name != asked.Policy {
			continue
		}
		reason := claimsRefusal(p, c)
		if reason == "" {
			if p.Spec.Expression != "" {
				evaluated++
			}
			if evaluated > maxExpressions {
				d.Problem = tooManySentence(asked)
				return d
			}
			reason = restRefusal(p, c, compile)
		}
		if reason == "" {
			matching = append(matching, p)
		} else if len(d.Reasons) < maxReasons {
			d.Reasons = append(d.Reasons, fmt.Sprintf("%s/%s: %s", p.Namespace, p.Name, reason))
		}
	}
	return d.choose(c, matching, asked)
}

func inOrder(policies []*v1alpha1.TrustPolicy) []*v1alpha1.TrustPolicy {
	return slices.SortedFunc(slices.Values(policies), func(a, b *v1alpha1.TrustPolicy) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

func restRefusal(p *v1alpha1.TrustPolicy, c *Claims, compile func(*v1alpha1.TrustPolicy) (*Policy, error)) string {
	compiled, err := compile(p)
	if err != nil {
		return err.Error()
	}
	return compiled.expressionRefusal(c)
}

// choose grants what any of the policies of a Team does, within the bounds of that one. What they bound differently, it does not grant.
func (d Decision) choose(c *Claims, matching []*v1alpha1.TrustPolicy, asked Asked) Decision {
	if len(matching) == 0 {
		d.Problem = noneSentence(c, asked)
		return d
	}
	if matching[0].Namespace != matching[len(matching)-1].Namespace {
		d.Problem = "TrustPolicies of several Teams match the claims of the token. Say which Team you mean: " +
			"send its name in the header Postflight-Team, as postflight does with $POSTFLIGHT_TEAM."
		return d
	}
	d.Policy, d.Grant = matching[0], grant.Grant{}
	for _, action := range grant.Actions {
		able := slices.DeleteFunc(slices.Clone(matching),
			func(p *v1alpha1.TrustPolicy) bool { return !slices.Contains(grantOf(p, c).Actions, action) })
		only := slices.Equal(asked.Actions, []grant.Action{action})
		switch {
		case len(able) == 0:
			continue
		case sameBounds(c, able, action):
			d.Grant = withBounds(d.Grant, grantOf(able[0], c), action)
		case only:
			return Decision{Problem: severalSentence(able), Reasons: d.Reasons}
		default:
			continue
		}
		d.Grant.Actions = append(d.Grant.Actions, action)
		if only {
			d.Policy = able[0]
		}
	}
	return d
}

// withBounds returns the Grant with the bounds that another one sets to an action.
func withBounds(g, other grant.Grant, action grant.Action) grant.Grant {
	switch action {
	case grant.Notify:
		g.DeploymentTypes, g.Environments = other.DeploymentTypes, other.Environments
		g.Commit, g.Branches, g.Repositories = other.Commit, other.Branches, other.Repositories
	case grant.Act:
		g.Acts = other.Acts
	}
	return g
}

// sameBounds reports whether all policies set the same bounds to an action.
func sameBounds(c *Claims, able []*v1alpha1.TrustPolicy, action grant.Action) bool {
	bounds := func(p *v1alpha1.TrustPolicy) grant.Grant { return withBounds(grant.Grant{}, grantOf(p, c), action) }
	return !slices.ContainsFunc(able, func(p *v1alpha1.TrustPolicy) bool { return !reflect.DeepEqual(bounds(p), bounds(able[0])) })
}

func tooManySentence(asked Asked) string {
	if asked.Team == "" {
		return "Too many TrustPolicies might match the token. Say which Team you mean: send its name in the header Postflight-Team, " +
			"as postflight does with $POSTFLIGHT_TEAM."
	}
	return fmt.Sprintf("The Team has more than %d TrustPolicies with an expression that might match the token. "+
		"Send TEAM/TRUSTPOLICY in the header Postflight-Team, or let its TrustPolicies name claims.", maxExpressions)
}

func severalSentence(matching []*v1alpha1.TrustPolicy) string {
	var names []string
	for _, p := range matching[:min(len(matching), maxReasons)] {
		names = append(names, p.Name)
	}
	return fmt.Sprintf("The TrustPolicies %s of the Team match the token and allow different things. Say which one you mean: "+
		"send TEAM/TRUSTPOLICY in the header Postflight-Team, as postflight does with $POSTFLIGHT_TEAM.", strings.Join(names, ", "))
}

// shown are the claims that TrustPolicies usually match. Only the sender of the token sees them.
var shown = []string{
	"repository", "repository_id", "repository_owner_id", "ref", "environment", "event_name", "job_workflow_ref", // GitHub
	"project_path", "project_id", "namespace_id", "ref_path", "ref_protected", "environment_protected", "pipeline_source", // GitLab
	"organization_slug", "organization_id", "pipeline_slug", "pipeline_id", "build_branch", // Buildkite
	"oidc.circleci.com/org-id", "oidc.circleci.com/project-id", "oidc.circleci.com/vcs-ref", "oidc.circleci.com/ssh-rerun", // CircleCI
	"aud",
}

func noneSentence(c *Claims, asked Asked) string {
	names := slices.DeleteFunc(slices.Clone(shown), func(name string) bool { return c.text[name] == "" })
	if len(names) <= 1 { // of another issuer
		names = slices.DeleteFunc(c.names(), func(name string) bool { return slices.Contains(times, name) })
	}
	var claims []string
	for _, name := range names[:min(len(names), len(shown))] {
		claims = append(claims, fmt.Sprintf("%s=%s", show(name), show(c.text[name])))
	}
	all := strings.Join(claims, ", ")
	if asked.Team == "" {
		return fmt.Sprintf("The request names no Team, and no TrustPolicy of a Team for which the operator lists the repository of this token "+
			"of %s matches its claims: %s. Set POSTFLIGHT_TEAM to the name of your Team, or send it in the header Postflight-Team. "+
			"If the operator lists the repository in spec.repositories of your Team, compare the claims with spec.claims and spec.expression.",
			show(c.String("iss")), all)
	}
	policy := "TrustPolicy"
	if asked.Policy != "" {
		policy += " " + show(asked.Policy)
	}
	return fmt.Sprintf("No %s of the Team %s matches the claims of this token of %s: %s. Compare them with spec.claims and spec.expression.",
		policy, show(asked.Team), show(c.String("iss")), all)
}

var times = []string{"iss", "iat", "exp", "nbf", "jti"}
