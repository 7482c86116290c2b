package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestWhoReachesTheAPI: pods of runs, which upload results, always reach it.
func TestWhoReachesTheAPI(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	runs := networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{},
		PodSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelSuite, Operator: metav1.LabelSelectorOpExists}},
		},
	}
	proxy := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "proxy"}}}
	for name, tc := range map[string]struct {
		set  string
		want []networkingv1.NetworkPolicyPeer
	}{
		"by default, everybody": {"replicas=2", nil},
		"those of the values":   {"networkPolicy.apiFrom[0].podSelector.matchLabels.app=proxy", []networkingv1.NetworkPolicyPeer{runs, proxy}},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, err := template(t, release, namespace, "--set", tc.set, "--show-only", "templates/networkpolicy.yaml")
			if err != nil {
				t.Fatal(err)
			}
			policy := &networkingv1.NetworkPolicy{}
			convert(t, objects(t, rendered)["NetworkPolicy postflight-manager"], policy)
			if rule := policy.Spec.Ingress[0]; rule.Ports[0].Port.String() != "http" {
				t.Fatalf("the first rule is for %v", rule.Ports)
			}
			if diff := cmp.Diff(tc.want, policy.Spec.Ingress[0].From); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
