package trust_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/access/trust"
)

func TestCompile(t *testing.T) {
	broad := func(name string) func(*v1alpha1.TrustPolicy) {
		return spec(func(s *v1alpha1.TrustPolicySpec) { s.Claims = map[string]v1alpha1.ClaimValues{name: {"x"}} })
	}
	for name, tc := range map[string]struct {
		policy *v1alpha1.TrustPolicy
		want   string // the reason; empty: it compiles
	}{
		"claims":                     {policy("p"), ""},
		"claims and expression":      {policy("p", expression("claims.ref == 'refs/heads/main'")), ""},
		"expression":                 {policy("p", onlyExpression("claims.repository_owner == 'acme'")), ""},
		"expression of everybody":    {policy("p", onlyExpression("true")), trust.ReasonTooBroad},
		"expression without owner":   {policy("p", onlyExpression("claims.ref == 'refs/heads/main'")), trust.ReasonTooBroad},
		"nothing":                    {policy("p", onlyExpression("")), trust.ReasonTooBroad},
		"claims of everybody":        {policy("p", broad("ref")), trust.ReasonTooBroad},
		"a workflow that is called":  {policy("p", broad("job_workflow_ref")), trust.ReasonTooBroad},
		"claims, owner in the rest":  {policy("p", broad("ref"), expression("claims['repository_owner_id'] == '12'")), ""},
		"subject":                    {policy("p", broad("sub")), trust.ReasonTooBroad},
		"project of gitlab.com":      {policy("p", issuer(gitlab)), ""},
		"everybody on gitlab.com":    {policy("p", issuer(gitlab), broad("ref_protected")), trust.ReasonTooBroad},
		"everybody on Buildkite":     {policy("p", issuer(buildkite), broad("pipeline_slug")), trust.ReasonTooBroad},
		"a host of one's own":        {policy("p", issuer("https://gitlab.example.com"), broad("ref_protected")), ""},
		"an expression with a fault": {policy("p", expression("claims.ref =")), trust.ReasonInvalidExpression},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := trust.Compile(tc.policy)
			invalid, _ := errors.AsType[*trust.Invalid](err)
			if (err == nil) != (tc.want == "") || err != nil && (invalid.Reason != tc.want || !strings.HasPrefix(invalid.Message, "It trusts nobody")) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestGrant(t *testing.T) {
	allow := func(a v1alpha1.TrustAllow) func(*v1alpha1.TrustPolicy) {
		return spec(func(s *v1alpha1.TrustPolicySpec) { s.Allow = a })
	}
	commitClaim := func(name string) func(*v1alpha1.TrustPolicy) {
		return spec(func(s *v1alpha1.TrustPolicySpec) { s.CommitClaim = &name })
	}
	for name, tc := range map[string]struct {
		policy *v1alpha1.TrustPolicy
		claims object
		want   grant.Grant // besides Branches and Repositories, which TestJobOfAToken has
	}{
		"notify": {policy("p"), ofGitHub(), grant.Grant{Actions: []grant.Action{grant.Notify}, Commit: commit}},
		"some notifications": {
			policy("p", allow(v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{DeploymentTypes: []string{"pr-*"}, Environments: []string{"staging"}}})),
			ofGitHub(), grant.Grant{Actions: []grant.Action{grant.Notify}, DeploymentTypes: []string{"pr-*"}, Environments: []string{"staging"}, Commit: commit},
		},
		"everything": {
			policy("p", allow(v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{}, Upload: true, Read: true, Act: true})), ofGitHub(),
			grant.Grant{Actions: []grant.Action{grant.Notify, grant.Upload, grant.Read, grant.Act}, Commit: commit},
		},
		"some acts": {
			policy("p", allow(v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{DeploymentTypes: []string{"pr-*"}, Environments: []string{"staging"}}, Act: true})),
			ofGitHub(), grant.Grant{Actions: []grant.Action{grant.Notify, grant.Act}, DeploymentTypes: []string{"pr-*"}, Environments: []string{"staging"}, Commit: commit,
				Acts: grant.Bounds{DeploymentTypes: []string{"pr-*"}, Environments: []string{"staging"}}},
		},
		"read only":     {policy("p", allow(v1alpha1.TrustAllow{Read: true})), ofGitHub(), grant.Grant{Actions: []grant.Action{grant.Read}}},
		"no commit":     {policy("p"), ofGitHub(object{"sha": nil}), grant.Grant{Actions: []grant.Action{grant.Notify}}},
		"any commit":    {policy("p", commitClaim("")), ofGitHub(), grant.Grant{Actions: []grant.Action{grant.Notify}}},
		"another claim": {policy("p", commitClaim("job_workflow_sha")), ofGitHub(object{"sha": "x"}), grant.Grant{Actions: []grant.Action{grant.Notify}, Commit: commit}},
		"GitLab":        {policy("p", issuer(gitlab)), ofGitLab(), grant.Grant{Actions: []grant.Action{grant.Notify}, Commit: commit}},
		"a host of GitHub": {policy("p", issuer("https://ghe.example.com/_services/token"), claim("project_id", "22")),
			ofGitHub(object{"iss": "https://ghe.example.com/_services/token", "project_id": "22"}), grant.Grant{Actions: []grant.Action{grant.Notify}, Commit: commit}},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(parse(t, tc.claims), []*v1alpha1.TrustPolicy{tc.policy}, trust.Asked{})
			if d.Policy == nil {
				t.Fatalf("%s %q", d.Problem, d.Reasons)
			}
			d.Grant.Branches, d.Grant.Repositories = nil, nil
			if diff := cmp.Diff(tc.want, d.Grant); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestJobOfAToken: what a notification must not contradict, if it names the commit of the job's event.
func TestJobOfAToken(t *testing.T) {
	claimed := func(name string) *v1alpha1.TrustPolicy {
		return policy("p", spec(func(s *v1alpha1.TrustPolicySpec) { s.CommitClaim = &name }))
	}
	onGitLab := policy("p", issuer(gitlab))
	shop := []string{"acme/shop"}
	for name, tc := range map[string]struct {
		policy                 *v1alpha1.TrustPolicy
		claims                 object
		branches, repositories []string
	}{
		"a push":                              {policy("p"), ofGitHub(), []string{"main"}, shop},
		"the claim is named":                  {claimed("sha"), ofGitHub(), []string{"main"}, shop},
		"a branch in a folder":                {policy("p"), ofGitHub(object{"ref": "refs/heads/feature/x"}), []string{"feature/x"}, shop},
		"a tag is of no branch":               {policy("p"), ofGitHub(object{"ref": "refs/tags/main", "ref_type": "tag"}), nil, shop},
		"a deployment of a commit":            {policy("p"), ofGitHub(object{"ref": "", "event_name": "deployment"}), nil, shop},
		"a pull request":                      {policy("p"), ofGitHub(object{"ref": "refs/pull/7/merge", "head_ref": "feature/x", "base_ref": "main", "event_name": "pull_request"}), []string{"feature/x", "7/merge"}, shop},
		"a pull request without a head":       {policy("p"), ofGitHub(object{"ref": "refs/pull/7/merge"}), nil, shop},
		"a merge queue":                       {policy("p"), ofGitHub(object{"ref": "refs/heads/gh-readonly-queue/main/pr-42-" + commit, "event_name": "merge_group"}), []string{"gh-readonly-queue/main/pr-42-" + commit, "main"}, shop},
		"a branch named like a merge queue":   {policy("p"), ofGitHub(object{"ref": "refs/heads/gh-readonly-queue/main/pr-42-" + commit, "event_name": "workflow_dispatch"}), []string{"gh-readonly-queue/main/pr-42-" + commit}, shop},
		"pull_request_target":                 {policy("p"), ofGitHub(object{"head_ref": "release", "base_ref": "main", "event_name": "pull_request_target"}), []string{"main"}, shop},
		"no commit is compared":               {claimed(""), ofGitHub(), nil, nil},
		"the token has no commit":             {policy("p"), ofGitHub(object{"sha": nil}), nil, nil},
		"the commit of a called workflow":     {claimed("job_workflow_sha"), ofGitHub(), nil, nil},
		"GitLab":                              {onGitLab, ofGitLab(), []string{"main"}, shop},
		"a tag of GitLab":                     {onGitLab, ofGitLab(object{"ref": "v1", "ref_type": "tag"}), nil, shop},
		"a merge request":                     {onGitLab, ofGitLab(object{"ref": "feature/x", "pipeline_source": "merge_request_event"}), []string{"feature/x"}, shop},
		"a merge request by its ref":          {onGitLab, ofGitLab(object{"ref": "refs/merge-requests/7/head"}), nil, shop},
		"a fork, in the project":              {onGitLab, ofGitLab(object{"project_path": "anna/shop", "job_project_path": "acme/shop"}), []string{"main"}, []string{"anna/shop", "acme/shop"}},
		"no fork, in the project":             {onGitLab, ofGitLab(object{"job_project_path": "acme/shop"}), []string{"main"}, shop},
		"another issuer's ref and repository": {policy("p", issuer(gitlab)), object{"iss": gitlab, "aud": "postflight", "project_id": "22", "sha": commit, "ref": "refs/heads/main", "repository": "acme/shop"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(parse(t, tc.claims), []*v1alpha1.TrustPolicy{tc.policy}, trust.Asked{})
			if d.Policy == nil {
				t.Fatalf("%s %q", d.Problem, d.Reasons)
			}
			if !slices.Equal(d.Grant.Branches, tc.branches) || !slices.Equal(d.Grant.Repositories, tc.repositories) {
				t.Errorf("branches %q, repositories %q", d.Grant.Branches, d.Grant.Repositories)
			}
		})
	}
}

// TestRefusals: each differs in one thing from a policy and a token that match.
func TestRefusals(t *testing.T) {
	missingCommit := func(name string) *v1alpha1.TrustPolicy {
		return policy("p", spec(func(s *v1alpha1.TrustPolicySpec) { s.CommitClaim = &name }))
	}
	for name, tc := range map[string]struct {
		policy *v1alpha1.TrustPolicy
		change object
		want   string
	}{
		"another repository":        {policy("p"), object{"repository_id": "4712"}, "the claim repository_id is 4712"},
		"longer value":              {policy("p"), object{"repository_id": "47110"}, "repository_id is 47110"},
		"beginning of the value":    {policy("p"), object{"repository_id": "471"}, "repository_id is 471"},
		"another case":              {policy("p", claim("ref", "refs/heads/main")), object{"ref": "refs/heads/Main"}, "ref is refs/heads/Main"},
		"space around it":           {policy("p"), object{"repository_id": " 4711"}, "repository_id is"},
		"missing":                   {policy("p"), object{"repository_id": nil}, "repository_id is missing"},
		"empty":                     {policy("p"), object{"repository_id": ""}, "repository_id is missing"},
		"a list":                    {policy("p"), object{"repository_id": []string{"4711"}}, `repository_id is ["4711"]`},
		"an object":                 {policy("p"), object{"repository_id": object{"4711": "4711"}}, "repository_id is {"},
		"another number":            {policy("p"), object{"repository_id": 4711.5}, "repository_id is 4711.5"},
		"a boolean":                 {policy("p"), object{"repository_id": true}, "repository_id is true"},
		"one of two claims":         {policy("p", claim("ref", "refs/heads/main")), object{"ref": "refs/heads/x"}, "the claim ref is refs/heads/x"},
		"text of a list":            {policy("p", claim("ref", `["a"]`)), object{"ref": []string{"a"}}, "the claim ref is"},
		"another issuer":            {policy("p"), object{"iss": "https://token.actions.example.com"}, "the issuer is another one"},
		"audience of another":       {policy("p"), object{"aud": "b1a2"}, "the audience is b1a2"},
		"false expression":          {policy("p", expression("claims.event_name == 'push'")), object{"event_name": "pull_request_target"}, "the expression is false"},
		"expression without value":  {policy("p", expression("claims.event_name != 'x'")), object{"event_name": nil}, "the expression has no value"},
		"no commit where it must":   {missingCommit("build_commit"), nil, "the claim build_commit has no commit"},
		"empty commit":              {policy("p"), object{"sha": ""}, "the claim sha has no commit"},
		"commit of another type":    {policy("p"), object{"sha": []string{commit}}, "the claim sha has no commit"},
		"commit is a number":        {policy("p"), object{"sha": 12345678}, "the claim sha has no commit"},
		"hostile value in a reason": {policy("p"), object{"repository_id": "1\n\x1b[31m" + strings.Repeat("x", 5000)}, "repository_id is 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decide(parse(t, ofGitHub()), []*v1alpha1.TrustPolicy{policy("p")}, trust.Asked{}); d.Policy == nil {
				t.Fatalf("the unchanged token is refused: %q", d.Reasons)
			}
			d := decide(parse(t, ofGitHub(tc.change)), []*v1alpha1.TrustPolicy{tc.policy}, trust.Asked{})
			if d.Policy != nil || len(d.Reasons) != 1 || !strings.Contains(d.Reasons[0], "acme/p: ") || !strings.Contains(d.Reasons[0], tc.want) {
				t.Errorf("%v %q, want %q", d.Policy, d.Reasons, tc.want)
			}
			if strings.ContainsAny(d.Problem+strings.Join(d.Reasons, ""), "\n\x1b") || len(d.Problem) > 5000 {
				t.Errorf("the text is not clean: %q", d.Problem)
			}
		})
	}
}

// TestSpelling: code hosts have no two repositories, nor owners, that differ only in case. Everything else is compared exactly.
func TestSpelling(t *testing.T) {
	const kelvin = "\u212a" // becomes a k in lower case
	gitHub, gitLab := func(o object) object { return ofGitHub(o) }, func(o object) object { return ofGitLab(o) }
	ofOther := func(o object) object { // an issuer that has some of the claims, too
		for _, id := range []string{"repository_id", "repository_owner_id", "project_id", "namespace_id"} {
			o[id] = nil
		}
		return ofGitHub(o)
	}
	for name, tc := range map[string]struct {
		reason      string
		token       func(object) object
		claim       string
		value, sent string
		want        bool
	}{
		"a repository":           {"GitHub has one of the name", gitHub, "repository", "acme/shop", "Acme/Shop", true},
		"in the policy":          {"somebody wrote what the page shows", gitHub, "repository", "Acme/Shop", "acme/shop", true},
		"an owner":               {"GitHub has one of the name", gitHub, "repository_owner", "Acme", "acme", true},
		"a project":              {"GitLab has one of the path", gitLab, "project_path", "acme/web/shop", "Acme/Web/shop", true},
		"a group":                {"GitLab has one of the path", gitLab, "namespace_path", "acme/web", "ACME/web", true},
		"another repository":     {"it is another one", gitHub, "repository", "acme/shop", "Acme/Shop2", false},
		"letters of Unicode":     {"names of code hosts are ASCII", gitHub, "repository", "acme/worker", "acme/wor" + kelvin + "er", false},
		"Unicode in the policy":  {"they are no beginning of another name either", gitHub, "repository", "acme/wor" + kelvin + "er", "acme/worker", false},
		"another issuer":         {"it may have both", ofOther, "repository", "acme/shop", "Acme/Shop", false},
		"a path of another one":  {"it may be one of files", ofOther, "project_path", "acme/shop", "Acme/Shop", false},
		"a branch":               {"Git has both", gitHub, "ref", "refs/heads/main", "refs/heads/Main", false},
		"an environment":         {"names are compared exactly", gitHub, "environment", "production", "Production", false},
		"a workflow":             {"it has a path and a branch", gitHub, "job_workflow_ref", "acme/shop/.github/workflows/x.yml@refs/heads/main", "Acme/shop/.github/workflows/x.yml@refs/heads/main", false},
		"a subject":              {"it has a branch", gitHub, "sub", "repo:acme/shop:ref:refs/heads/main", "repo:Acme/shop:ref:refs/heads/main", false},
		"a project's branch":     {"Git has both", gitLab, "ref_path", "refs/heads/main", "refs/heads/MAIN", false},
		"the project of the job": {"it is no owner", gitLab, "job_project_path", "acme/shop", "Acme/shop", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := parse(t, tc.token(object{tc.claim: tc.sent}))
			p := policy("p", spec(func(s *v1alpha1.TrustPolicySpec) {
				s.Issuer, s.Claims = c.String("iss"), map[string]v1alpha1.ClaimValues{tc.claim: {tc.value}}
				s.Expression = "claims['iss'] != '' || claims.repository_id != '' || claims.project_id != ''" // names an owner
			}))
			found := slices.ContainsFunc(trust.PolicyKeys(p), func(key string) bool { return slices.Contains(c.Keys(), key) })
			d := decide(c, []*v1alpha1.TrustPolicy{p}, trust.Asked{})
			says := strings.Contains(strings.Join(d.Reasons, ""), "the claim "+tc.claim+" is ")
			if got := d.Policy != nil; got != tc.want || got && !found || got == says {
				t.Errorf("%s: got %t (%q), and the index finds it: %t", tc.reason, got, d.Reasons, found)
			}
		})
	}
	p := policy("p", onlyExpression("claims.repository == 'acme/shop'"))
	if d := decide(parse(t, ofGitHub(object{"repository": "Acme/Shop"})), []*v1alpha1.TrustPolicy{p}, trust.Asked{}); d.Policy != nil {
		t.Error("an expression does not compare exactly")
	}
}

// TestExactScalars: numbers and booleans are compared by their JSON text.
func TestExactScalars(t *testing.T) {
	p := []*v1alpha1.TrustPolicy{policy("p", issuer(gitlab), claim("runner_id", "1"), claim("ok", "true"))}
	for value, want := range map[any]bool{1: true, "1": true, 1.5: false, 10: false, "1.0": false} {
		for ok, good := range map[any]bool{true: true, "true": true, false: false} {
			d := decide(parse(t, ofGitLab(object{"runner_id": value, "ok": ok})), p, trust.Asked{})
			if (d.Policy != nil) != (want && good) {
				t.Errorf("%v (%T), %v: %q", value, value, ok, d.Reasons)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		policy *v1alpha1.TrustPolicy
		claims object
		want   bool
	}{
		"its repository":       {policy("p"), ofGitHub(), true},
		"another repository":   {policy("p"), ofGitHub(object{"repository_id": "1"}), false},
		"one of several":       {policy("p", claim("repository_id", "1", "4711")), ofGitHub(), true},
		"a number":             {policy("p"), ofGitHub(object{"repository_id": 4711}), true},
		"an expression":        {policy("p", onlyExpression("claims.repository_owner == 'acme'")), ofGitHub(), true},
		"a claim of no key":    {policy("p", issuer("https://ci.example.com"), spec(func(s *v1alpha1.TrustPolicySpec) { s.Claims = map[string]v1alpha1.ClaimValues{"x": {"y"}} })), ofGitHub(object{"iss": "https://ci.example.com"}), true},
		"a project":            {policy("p", issuer(gitlab)), ofGitLab(), true},
		"another issuer":       {policy("p", issuer("https://gitlab.example.com")), ofGitLab(), false},
		"its name in the next": {policy("p", issuer("https://gitlab.com\x00project_id")), ofGitLab(), false},
	} {
		t.Run(name, func(t *testing.T) {
			keys := parse(t, tc.claims).Keys()
			if got := slices.ContainsFunc(trust.PolicyKeys(tc.policy), func(key string) bool { return slices.Contains(keys, key) }); got != tc.want {
				t.Errorf("%v: %q and %q", got, trust.PolicyKeys(tc.policy), keys)
			}
		})
	}
}
