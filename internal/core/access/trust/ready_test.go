package trust_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/trust"
)

func TestReady(t *testing.T) {
	team := v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}}
	leaving := v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme", DeletionTimestamp: new(metav1.NewTime(noon))}}
	listed := map[string][]string{github: {"postflight"}, "https://oidc.circleci.com/org/b1a2": {"b1a2"}}
	audience := spec(func(s *v1alpha1.TrustPolicySpec) { s.Audiences = []string{"b1a2"} })
	bounded := spec(func(s *v1alpha1.TrustPolicySpec) {
		s.Allow = v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{DeploymentTypes: []string{"pr-*"}, Environments: []string{"staging", "eu"}}, Read: true, Act: true}
	})
	for name, tc := range map[string]struct {
		policy  *v1alpha1.TrustPolicy
		teams   []v1alpha1.Team
		issuers map[string][]string
		reason  string
		message string
	}{
		"trusted":          {policy("p"), []v1alpha1.Team{team}, listed, trust.ReasonTrusted, "may notify for the Team \"acme\""},
		"its rights":       {policy("p", bounded), []v1alpha1.Team{team}, listed, trust.ReasonTrusted, "may notify of pr-* in staging, eu; read; cancel and repeat runs for"},
		"no team":          {policy("p"), nil, listed, v1alpha1.ReasonNoTeam, `no Team owns the namespace "acme"`},
		"a deleted team":   {policy("p"), []v1alpha1.Team{leaving}, listed, v1alpha1.ReasonNoTeam, "no Team owns"},
		"two teams":        {policy("p"), []v1alpha1.Team{team, team}, listed, v1alpha1.ReasonNamespaceClaimedTwice, "several Teams claim"},
		"no issuers":       {policy("p"), []v1alpha1.Team{team}, nil, trust.ReasonIssuerNotListed, "lists no issuers"},
		"another issuer":   {policy("p", issuer(gitlab)), []v1alpha1.Team{team}, listed, trust.ReasonIssuerNotListed, "but only https://oidc.circleci.com/org/b1a2, " + github},
		"another audience": {policy("p", audience), []v1alpha1.Team{team}, listed, trust.ReasonAudienceNotListed, "only for the audience postflight"},
		"a bad expression": {policy("p", expression("claims.ref =")), []v1alpha1.Team{team}, listed, trust.ReasonInvalidExpression, "spec.expression does not compile"},
		"everybody":        {policy("p", onlyExpression("true")), nil, nil, trust.ReasonTooBroad, "claims or expression must name repository_id"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.policy.Generation = 3
			is := trust.Ready(tc.policy, tc.teams, tc.issuers)
			if is.Reason != tc.reason || (is.Status == metav1.ConditionTrue) != (tc.reason == trust.ReasonTrusted) ||
				!strings.Contains(is.Message, tc.message) || is.ObservedGeneration != 3 {
				t.Errorf("%+v", is)
			}
		})
	}
}
