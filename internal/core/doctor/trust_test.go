package doctor

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestTrustPolicies(t *testing.T) {
	policy := func(namespace, issuer string) v1alpha1.TrustPolicy {
		p := v1alpha1.TrustPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ci"}}
		p.Spec.Issuer, p.Spec.Claims = issuer, map[string]v1alpha1.ClaimValues{"repository_id": {"1"}}
		return p
	}
	const gitHub, buildkite = "https://token.actions.githubusercontent.com", "https://agent.buildkite.com"
	broken := policy("acme", gitHub)
	broken.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "It trusts nobody."}}
	team := func(name string, repositories ...string) v1alpha1.Team {
		return v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TeamSpec{Namespace: "acme", Repositories: repositories}}
	}
	for name, tc := range map[string]struct {
		policies []v1alpha1.TrustPolicy
		teams    []v1alpha1.Team
		level    Level
		says     string
		advises  string
	}{
		"none":             {nil, nil, OK, "All 0 work", ""},
		"listed":           {[]v1alpha1.TrustPolicy{policy("acme", gitHub)}, []v1alpha1.Team{team("a", "acme/*")}, OK, "All 1 work", ""},
		"not listed":       {[]v1alpha1.TrustPolicy{policy("acme", gitHub)}, []v1alpha1.Team{team("a")}, OK, "acme/ci trusts must name the Team", "POSTFLIGHT_TEAM=a,"},
		"another host":     {[]v1alpha1.TrustPolicy{policy("acme", gitHub)}, []v1alpha1.Team{team("a", "gitlab.com/acme/*")}, OK, "must name the Team", "spec.repositories"},
		"no repository":    {[]v1alpha1.TrustPolicy{policy("acme", buildkite)}, []v1alpha1.Team{team("a", "acme/*")}, OK, "must name the Team", "POSTFLIGHT_TEAM=a,"},
		"it does not work": {[]v1alpha1.TrustPolicy{broken}, []v1alpha1.Team{team("a")}, Warning, "acme/ci does not work: It trusts nobody.", ""},
		"nobody's":         {[]v1alpha1.TrustPolicy{policy("other", gitHub)}, []v1alpha1.Team{team("a")}, OK, "All 1 work", ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := TrustPolicies(tc.policies, tc.teams, "github.com")
			if len(found) != 1 || found[0].Level != tc.level || !strings.Contains(found[0].Message, tc.says) || !strings.Contains(found[0].Advice, tc.advises) ||
				(found[0].Advice == "") != (tc.advises == "") {
				t.Errorf("%+v", found)
			}
		})
	}
}
