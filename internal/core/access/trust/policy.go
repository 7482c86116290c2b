package trust

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

// The reasons of the Ready condition of a TrustPolicy. In their messages, "it" is the TrustPolicy.
const (
	ReasonTrusted           = "Trusted"
	ReasonInvalidExpression = "InvalidExpression"
	ReasonTooBroad          = "TooBroad"
	ReasonIssuerNotListed   = "IssuerNotListed"
	ReasonAudienceNotListed = "AudienceNotListed"
)

// Invalid is why a TrustPolicy trusts no token.
type Invalid struct{ Reason, Message string }

func (i *Invalid) Error() string { return i.Message }

// owners are the claims of issuers with many customers that say whose token it is. GitHub's job_workflow_ref is none, because
// anybody may call a workflow of a public repository; nor is GitLab's job_project_id, which merge requests of forks have, too.
var owners = map[string][]string{
	"https://token.actions.githubusercontent.com": {
		"repository_id", "repository_owner_id", "repository", "repository_owner", "enterprise_id", "enterprise",
	},
	"https://gitlab.com":          {"project_id", "namespace_id", "project_path", "namespace_path"},
	"https://agent.buildkite.com": {"organization_id", "organization_slug", "pipeline_id", "cluster_id"},
	"https://oidc.circleci.com":   {"oidc.circleci.com/org-id", "oidc.circleci.com/project-id"},
}

// defaultCommitClaim is what GitHub and GitLab call the commit, on hosts of every name.
const defaultCommitClaim = "sha"

// Policy is a valid TrustPolicy. It is safe for concurrent use.
type Policy struct {
	*v1alpha1.TrustPolicy
	expression *match.Claims // nil: there is none
}

// Compile returns an *Invalid for a policy that trusts no token. The policy must not change afterwards.
func Compile(p *v1alpha1.TrustPolicy) (*Policy, error) {
	compiled := &Policy{TrustPolicy: p}
	if p.Spec.Expression != "" {
		expression, err := match.CompileClaims(p.Spec.Expression)
		if err != nil {
			return nil, &Invalid{ReasonInvalidExpression, fmt.Sprintf("It trusts nobody: spec.expression %s.", err)}
		}
		compiled.expression = expression
	}
	if message := compiled.tooBroad(); message != "" {
		return nil, &Invalid{ReasonTooBroad, message}
	}
	return compiled, nil
}

// tooBroad is also about expressions, which the schema cannot read.
func (p *Policy) tooBroad() string {
	if len(p.Spec.Claims) == 0 && p.expression == nil {
		return "It trusts nobody, because neither claims nor expression say which tokens of the issuer are trusted."
	}
	needed, shared := owners[p.Spec.Issuer]
	if !shared || slices.ContainsFunc(needed, func(name string) bool { return len(p.Spec.Claims[name]) > 0 }) ||
		p.expression != nil && p.expression.Names(needed...) {
		return ""
	}
	return fmt.Sprintf("It trusts nobody, because anybody can get a token of %s: claims or expression must name %s.",
		p.Spec.Issuer, strings.Join(needed, ", "))
}

// claimsRefusal returns why the claims of a token do not let its sender in, for operators, or "". Its signature and its times were checked.
func claimsRefusal(p *v1alpha1.TrustPolicy, c *Claims) string {
	if c.String("iss") != p.Spec.Issuer {
		return "the issuer is another one"
	}
	if !intersects(c.audiences(), audiences(p)) {
		return "the audience is " + show(c.text["aud"])
	}
	for _, name := range slices.Sorted(maps.Keys(p.Spec.Claims)) {
		if !c.isOneOf(name, p.Spec.Claims[name]) {
			return fmt.Sprintf("the claim %s is %s", name, cmp.Or(show(c.text[name]), "missing"))
		}
	}
	if name, required := commitClaim(p); name != "" {
		if (required || c.has(name)) && c.String(name) == "" {
			return fmt.Sprintf("the claim %s has no commit", name)
		}
	}
	return ""
}

// expressionRefusal is the same for the expression, which takes longer.
func (p *Policy) expressionRefusal(c *Claims) string {
	if p.expression == nil {
		return ""
	}
	if err := p.expression.Evaluate(c.text); err != nil {
		return "the expression " + err.Error()
	}
	return ""
}

// audiences are those that tokens may be for.
func audiences(p *v1alpha1.TrustPolicy) []string {
	if len(p.Spec.Audiences) == 0 {
		return []string{DefaultAudience}
	}
	return p.Spec.Audiences
}

func commitClaim(p *v1alpha1.TrustPolicy) (name string, required bool) {
	if p.Spec.CommitClaim == nil {
		return defaultCommitClaim, false
	}
	return *p.Spec.CommitClaim, true
}

// grantOf is what the sender of a token may do that the policy does not refuse.
func grantOf(p *v1alpha1.TrustPolicy, c *Claims) grant.Grant {
	allow := p.Spec.Allow
	var g grant.Grant
	if allow.Notify != nil {
		g.Actions = append(g.Actions, grant.Notify)
		g.DeploymentTypes, g.Environments = slices.Clone(allow.Notify.DeploymentTypes), slices.Clone(allow.Notify.Environments)
	}
	if allow.Upload {
		g.Actions = append(g.Actions, grant.Upload)
	}
	if allow.Read {
		g.Actions = append(g.Actions, grant.Read)
	}
	if allow.Act {
		g.Actions = append(g.Actions, grant.Act)
		g.Acts = grant.Bounds{DeploymentTypes: slices.Clone(g.DeploymentTypes), Environments: slices.Clone(g.Environments)}
	}
	if name, _ := commitClaim(p); name != "" {
		g.Commit = c.String(name)
		if name == defaultCommitClaim && g.Commit != "" { // others may be of another repository, such as the repository of a called workflow
			g.Branches, g.Repositories = c.branches(), c.repositories()
		}
	}
	return g
}
