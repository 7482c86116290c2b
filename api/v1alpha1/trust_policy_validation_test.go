package v1alpha1_test

import (
	"strings"
	"testing"
)

const (
	githubIssuer = "https://token.actions.githubusercontent.com"
	noOwner      = "has this issuer: claims must have"
)

var trustPolicy = kind("TrustPolicy", fields{
	"issuer": githubIssuer, "claims": fields{"repository_id": list{"4711"}, "ref": list{"refs/heads/main"}},
	"allow": fields{"notify": fields{"deploymentTypes": list{"staging", "preview-*"}}},
})

// trusts changes the issuer and the claims.
func trusts(issuer string, claims fields) edit {
	return edits(set("spec/issuer", issuer), set("spec/claims", claims))
}

func TestTrustPolicyValidation(t *testing.T) {
	claims := func(n int) fields {
		all := fields{"repository_id": list{"4711"}}
		for i := range n - 1 {
			all["c"+strings.Repeat("x", i)] = list{"v"}
		}
		return all
	}
	types, environments := "spec/allow/notify/deploymentTypes", "spec/allow/notify/environments"
	submit(t, trustPolicy, map[string]row{
		"Good":                   {"as in the docs", set("spec/audiences", list{"postflight"}), ""},
		"NoIssuer":               {"somebody issues a token", remove("spec/issuer"), "spec.issuer: Required"},
		"IssuerIsNoURL":          {"iss is a URL", set("spec/issuer", "github"), "spec.issuer"},
		"IssuerWithSpace":        {"iss has none", set("spec/issuer", "https://example.com/ a"), "spec.issuer"},
		"LongIssuer":             {"512 are enough", set("spec/issuer", "https://example.com/"+text(512)), "Too long"},
		"NoClaims":               {"everybody on GitHub", remove("spec/claims"), "claims or expression must say which tokens"},
		"EmptyClaims":            {"everybody on GitHub", set("spec/claims", fields{}), "spec.claims"},
		"AnyRepository":          {"everybody has a branch main", set("spec/claims", fields{"ref": list{"refs/heads/main"}}), "all of GitHub " + noOwner},
		"CalledWorkflow":         {"anybody may call a public workflow", set("spec/claims", fields{"job_workflow_ref": list{"acme/ci/.github/workflows/d.yml@refs/heads/main"}}), noOwner},
		"Owner":                  {"one organization", set("spec/claims", fields{"repository_owner_id": list{"12"}}), ""},
		"Enterprise":             {"one enterprise", set("spec/claims", fields{"enterprise_id": list{"3"}}), ""},
		"ExpressionOnly":         {"it may name the owner", edits(remove("spec/claims"), set("spec/expression", "claims.repository_owner_id == '12'")), ""},
		"ClaimsAndExpression":    {"both must hold", set("spec/expression", "claims.event_name != 'pull_request_target'"), ""},
		"AnyProject":             {"everybody on gitlab.com", trusts("https://gitlab.com", fields{"ref_protected": list{"true"}}), "all of gitlab.com " + noOwner},
		"JobProject":             {"a merge request of a fork has it, too", trusts("https://gitlab.com", fields{"job_project_id": list{"22"}}), noOwner},
		"Project":                {"one project", trusts("https://gitlab.com", fields{"project_id": list{"22"}}), ""},
		"OwnGitLab":              {"its users are known", trusts("https://gitlab.example.com", fields{"ref_protected": list{"true"}}), ""},
		"AnyPipeline":            {"slugs are unique in an organization only", trusts("https://agent.buildkite.com", fields{"pipeline_slug": list{"shop"}}), "all of Buildkite " + noOwner},
		"Pipeline":               {"one organization", trusts("https://agent.buildkite.com", fields{"organization_slug": list{"acme"}, "pipeline_slug": list{"shop"}}), ""},
		"AnyOfCircleCI":          {"all of CircleCI", trusts("https://oidc.circleci.com", fields{"oidc.circleci.com/vcs-ref": list{"refs/heads/main"}}), "all of CircleCI " + noOwner},
		"OrganizationOfCircleCI": {"an issuer of its own", trusts("https://oidc.circleci.com/org/b1a2", fields{"oidc.circleci.com/vcs-ref": list{"refs/heads/main"}}), ""},
		"ValueIsNoList":          {"several values are possible", set("spec/claims", fields{"repository_id": "4711"}), "spec.claims.repository_id"},
		"NumberAsValue":          {"written as text", set("spec/claims", fields{"repository_id": list{4711}}), "spec.claims.repository_id"},
		"NoValue":                {"nothing would match", set("spec/claims", fields{"repository_id": list{}}), "spec.claims.repository_id"},
		"EmptyValue":             {"a claim that is empty proves nothing", set("spec/claims", fields{"repository_id": list{""}}), "spec.claims.repository_id"},
		"ValueTwice":             {"a set", set("spec/claims", fields{"repository_id": list{"1", "1"}}), "Duplicate"},
		"Wildcard":               {"a prefix is easy to get wrong", set("spec/claims", fields{"repository": list{"acme/*"}}), "values are compared exactly"},
		"SixteenValues":          {"enough", set("spec/claims", fields{"repository_id": many(16)}), ""},
		"ManyValues":             {"use an owner", set("spec/claims", fields{"repository_id": many(17)}), "Too many"},
		"LongValue":              {"512 are enough", set("spec/claims", fields{"repository_id": list{text(513)}}), "Too long"},
		"SixteenClaims":          {"enough", set("spec/claims", claims(16)), ""},
		"ManyClaims":             {"17", set("spec/claims", claims(17)), "Too many"},
		"LongName":               {"no claim has it", set("spec/claims", fields{"repository_id": list{"1"}, text(129): list{"1"}}), "the name of a claim has 1 to 128"},
		"EmptyName":              {"no claim has it", set("spec/claims", fields{"repository_id": list{"1"}, "": list{"1"}}), "the name of a claim has 1 to 128"},
		"IssuerAsClaim":          {"it is a field", set("spec/claims", fields{"repository_id": list{"1"}, "iss": list{githubIssuer}}), "claims cannot have iss, aud"},
		"AudienceAsClaim":        {"it is a field", set("spec/claims", fields{"repository_id": list{"1"}, "aud": list{"x"}}), "claims cannot have iss, aud"},
		"LongExpression":         {"4096 are enough", set("spec/expression", text(4097)), "Too long"},
		"EmptyExpression":        {"it says nothing", set("spec/expression", ""), "spec.expression"},
		"NoAudience":             {"at least one", set("spec/audiences", list{}), "spec.audiences"},
		"ManyAudiences":          {"9", set("spec/audiences", many(9)), "Too many"},
		"NoCommit":               {"the head of a pull request", set("spec/commitClaim", ""), ""},
		"Commit":                 {"Buildkite", set("spec/commitClaim", "build_commit"), ""},
		"NoAllow":                {"it would do nothing", remove("spec/allow"), "spec.allow: Required"},
		"AllowsNothing":          {"it would do nothing", set("spec/allow", fields{}), "allow at least one of"},
		"AllowsNothingInWords":   {"it would do nothing", set("spec/allow", fields{"read": false, "act": false}), "allow at least one of"},
		"AllNotifications":       {"an empty object means all", set("spec/allow", fields{"notify": fields{}}), ""},
		"Read":                   {"a dashboard", set("spec/allow", fields{"read": true}), ""},
		"Everything":             {"like a key", set("spec/allow", fields{"notify": fields{}, "upload": true, "read": true, "act": true}), ""},
		"Misspelt":               {"it would not do what it says", set("spec/allow/raed", true), `unknown field "spec.allow.raed"`},
		"NoType":                 {"empty would mean all", set(types, list{}), types[len("spec/allow/notify/"):]},
		"AllTypes":               {"explicit", set(types, list{"*"}), ""},
		"StarInside":             {"only beginnings", set(types, list{"pre*view"}), "an entry of deploymentTypes is a name"},
		"TwoStars":               {"only one, at the end", set(types, list{"pr-**"}), "an entry of deploymentTypes is a name"},
		"NoEnvironment":          {"empty would mean all", set(environments, list{}), "environments"},
		"Environments":           {"names and beginnings", set(environments, list{"staging", "pr-*", "*"}), ""},
		"EnvironmentInCapitals":  {"no Environment has such a name", set(environments, list{"Staging"}), "an entry of environments is the name"},
		"StarInEnvironment":      {"only beginnings", set(environments, list{"*-eu"}), "an entry of environments is the name"},
	})
}
