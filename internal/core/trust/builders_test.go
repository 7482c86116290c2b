package trust_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/trust"
)

const (
	github    = "https://token.actions.githubusercontent.com"
	gitlab    = "https://gitlab.com"
	buildkite = "https://agent.buildkite.com"
	commit    = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

type object = map[string]any

// ofGitHub are the claims that docs.github.com lists for a job of an environment. A change of nil removes a claim.
func ofGitHub(changes ...object) object {
	return changed(object{
		"iss": github, "aud": "postflight", "sub": "repo:acme@12/shop@4711:environment:staging", "jti": "5ec2f1a3",
		"iat": noon.Unix() - 10, "nbf": noon.Unix() - 310, "exp": noon.Unix() + 290,
		"repository": "acme/shop", "repository_id": "4711", "repository_owner": "acme", "repository_owner_id": "12", "repository_visibility": "public",
		"ref": "refs/heads/main", "ref_type": "branch", "ref_protected": "true", "sha": commit, "environment": "staging", "event_name": "push",
		"workflow": "deploy", "workflow_ref": "acme/shop/.github/workflows/deploy.yml@refs/heads/main", "workflow_sha": commit,
		"job_workflow_ref": "acme/shop/.github/workflows/deploy.yml@refs/heads/main", "job_workflow_sha": commit, "actor": "anna", "actor_id": "7",
		"run_id": "100", "run_number": "10", "run_attempt": "1", "runner_environment": "github-hosted", "base_ref": "", "head_ref": "",
	}, changes)
}

// ofGitLab are the claims that docs.gitlab.com lists for a job that deploys.
func ofGitLab(changes ...object) object {
	return changed(object{
		"iss": gitlab, "aud": "postflight", "sub": "project_path:acme/shop:ref_type:branch:ref:main", "jti": "c82eeb0c",
		"iat": noon.Unix() - 10, "nbf": noon.Unix() - 15, "exp": noon.Unix() + 3590,
		"project_id": "22", "project_path": "acme/shop", "namespace_id": "72", "namespace_path": "acme", "user_id": "1", "user_login": "anna",
		"pipeline_id": "574", "pipeline_source": "push", "job_id": "302", "ref": "main", "ref_type": "branch", "ref_path": "refs/heads/main", "ref_protected": "true",
		"environment": "staging", "environment_protected": "false", "environment_action": "start", "deployment_tier": "staging",
		"runner_id": 1, "runner_environment": "gitlab-hosted", "sha": commit, "groups_direct": []string{"acme/ops"},
		"ci_config_ref_uri": "gitlab.com/acme/shop//.gitlab-ci.yml@refs/heads/main", "ci_config_sha": commit,
	}, changes)
}

func changed(claims object, changes []object) object {
	for _, change := range changes {
		for name, value := range change {
			if claims[name] = value; value == nil {
				delete(claims, name)
			}
		}
	}
	return claims
}

func parse(t *testing.T, claims object) *trust.Claims {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	c, err := trust.ParseClaims(payload)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// policy trusts the repository of ofGitHub, and lets its jobs notify.
func policy(name string, changes ...func(*v1alpha1.TrustPolicy)) *v1alpha1.TrustPolicy {
	p := &v1alpha1.TrustPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name},
		Spec: v1alpha1.TrustPolicySpec{
			Issuer: github, Claims: map[string]v1alpha1.ClaimValues{"repository_id": {"4711"}}, Audiences: []string{"postflight"},
			Allow: v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{}},
		},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func spec(change func(*v1alpha1.TrustPolicySpec)) func(*v1alpha1.TrustPolicy) {
	return func(p *v1alpha1.TrustPolicy) { change(&p.Spec) }
}

func claim(name string, values ...string) func(*v1alpha1.TrustPolicy) {
	return spec(func(s *v1alpha1.TrustPolicySpec) { s.Claims[name] = values })
}

func onlyExpression(expression string) func(*v1alpha1.TrustPolicy) {
	return spec(func(s *v1alpha1.TrustPolicySpec) { s.Claims, s.Expression = nil, expression })
}

func expression(expression string) func(*v1alpha1.TrustPolicy) {
	return spec(func(s *v1alpha1.TrustPolicySpec) { s.Expression = expression })
}

func issuer(issuer string) func(*v1alpha1.TrustPolicy) {
	return spec(func(s *v1alpha1.TrustPolicySpec) {
		s.Issuer, s.Claims = issuer, map[string]v1alpha1.ClaimValues{"project_id": {"22"}}
	})
}

func in(namespace string) func(*v1alpha1.TrustPolicy) {
	return func(p *v1alpha1.TrustPolicy) { p.Namespace = namespace }
}

func decide(c *trust.Claims, policies []*v1alpha1.TrustPolicy, asked trust.Asked) trust.Decision {
	return trust.Decide(c, policies, asked, trust.Compile)
}
