package trust_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/trust"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/tokens"
)

const (
	github    = "https://token.actions.githubusercontent.com"
	gitlab    = "https://gitlab.com"
	buildkite = "https://agent.buildkite.com"
	commit    = tokens.Commit
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

type object = tokens.Claims

func ofGitHub(changes ...object) object { return tokens.GitHub(github, noon, changes...) }

func ofGitLab(changes ...object) object { return tokens.GitLab(gitlab, noon, changes...) }

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
	return build.With(&v1alpha1.TrustPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name},
		Spec: v1alpha1.TrustPolicySpec{
			Issuer: github, Claims: map[string]v1alpha1.ClaimValues{"repository_id": {"4711"}}, Audiences: []string{"postflight"},
			Allow: v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{}},
		},
	}, changes...)
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
