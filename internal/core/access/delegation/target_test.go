package delegation

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func environment(namespace, name, cluster string, types ...string) *v1alpha1.Environment {
	return &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.EnvironmentSpec{Cluster: cluster, DeploymentTypes: types}}
}

func TestTargets(t *testing.T) {
	leaving := environment("shop", "leaving", "eu")
	leaving.DeletionTimestamp = new(metav1.Now())
	all := []*v1alpha1.Environment{
		environment("shop", "prod-us", "us", "production"), environment("shop", "prod-eu", "eu", "production"),
		environment("shop", "load-eu", "eu", "load", "nightly-*"), environment("shop", "staging", ""), leaving,
		environment("shop", "any-ap", "ap"),
	}
	cases := map[string]struct {
		reason string
		types  []string // nil: of all notifications
		want   []Target
	}{
		"all":         {"ordered, without what is here or being deleted", nil, []Target{{"ap", []string{"any-ap"}}, {"eu", []string{"load-eu", "prod-eu"}}, {"us", []string{"prod-us"}}}},
		"production":  {"load-eu takes no part", []string{"production"}, []Target{{"ap", []string{"any-ap"}}, {"eu", []string{"prod-eu"}}, {"us", []string{"prod-us"}}}},
		"a beginning": {"nightly-* takes it", []string{"nightly-2"}, []Target{{"ap", []string{"any-ap"}}, {"eu", []string{"load-eu"}}}},
		"staging":     {"production that is down delays no staging", []string{"staging"}, []Target{{"ap", []string{"any-ap"}}}},
		"no type":     {"an Environment without types takes it", []string{""}, []Target{{"ap", []string{"any-ap"}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Targets(all)
			if tc.types != nil {
				got = TargetsOf(all, tc.types[0])
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTeamsOfACluster: the Environments of one namespace never stand in the header for another.
func TestTeamsOfACluster(t *testing.T) {
	all := []*v1alpha1.Environment{
		environment("shop", "prod", "eu"), environment("pay", "prod-pay", "eu"), environment("pay", "load", "us"), environment("hr", "prod", "us"),
	}
	if diff := cmp.Diff([]string{"pay", "shop"}, Namespaces(all, "eu")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"prod-pay"}, EnvironmentsOf(all, "eu", "pay")); diff != "" {
		t.Error(diff)
	}
	if got := EnvironmentsOf(all, "eu", "hr"); got != nil {
		t.Errorf("got %q of a namespace without any there", got)
	}
}

func TestReady(t *testing.T) {
	may := []string{"notify", "read", "act"}
	silent := &Error{Message: "does not answer", Cause: errors.New("connection refused")}
	cases := map[string]struct {
		reason  string
		answers []Answer
		status  metav1.ConditionStatus
		want    string // the reason, and part of the message
		message string
	}{
		"unused":      {"there is nothing to ask for", nil, metav1.ConditionUnknown, "Unused", "set spec.cluster of an Environment"},
		"good":        {"all are let in", []Answer{{"shop", may, nil}, {"pay", may, nil}}, metav1.ConditionTrue, "Answering", "2 of 2 Teams"},
		"no read":     {"pages and waits need it", []Answer{{"shop", []string{"notify", "outcome"}, nil}, {"pay", may, nil}}, metav1.ConditionFalse, "MissingRights", "for shop:"},
		"no notify":   {"that is what a hub is for", []Answer{{"shop", []string{"read"}, nil}}, metav1.ConditionFalse, "MissingRights", "for shop:"},
		"silent":      {"an outage comes before rights", []Answer{{"pay", nil, nil}, {"shop", nil, silent}}, metav1.ConditionFalse, "NotAnswering", "For the Team shop, it does not answer: connection refused."},
		"four silent": {"each says the same", []Answer{{"a", nil, silent}, {"b", nil, silent}, {"c", nil, silent}, {"d", nil, silent}}, metav1.ConditionFalse, "NotAnswering", "And so on for 1 more."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Ready(tc.answers, len(tc.answers))
			if got.Status != tc.status || got.Reason != tc.want || !strings.Contains(got.Message, tc.message) {
				t.Errorf("%s: got %s %s %q", tc.reason, got.Status, got.Reason, got.Message)
			}
		})
	}
}
