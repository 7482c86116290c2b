package events_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/build"
)

const ruleEvent = "deployment_protection_rule"

func gateIn(namespace string, change ...func(*v1alpha1.DeploymentGate)) *v1alpha1.DeploymentGate {
	return build.With(&v1alpha1.DeploymentGate{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "production", UID: clientUID("uid-gate-" + namespace)},
		Spec: v1alpha1.DeploymentGateSpec{
			Source: "github", Environments: v1alpha1.NamePatterns{"Production"}, Requires: []v1alpha1.GateRequirement{{Environment: "staging"}},
		},
	}, change...)
}

func (u *hub) reviews() []v1alpha1.DeploymentReview {
	u.T.Helper()
	list := &v1alpha1.DeploymentReviewList{}
	if err := u.Cluster.List(context.Background(), list); err != nil {
		u.T.Fatal(err)
	}
	return list.Items
}

// TestReview: a question is kept as what the event says, once, and is owned by the gate.
func TestReview(t *testing.T) {
	u := startHub(t, source(), eventSecretOf(eventSecret), gateIn("acme"))
	body := payload(t, ruleEvent)
	for range 10 {
		if got := u.take(deliver(ruleEvent, body)); got.Review == "" || got.Ignored != "" {
			t.Fatalf("got %+v", got)
		}
	}
	all := u.reviews()
	if len(all) != 1 {
		t.Fatalf("%d reviews", len(all))
	}
	want := v1alpha1.DeploymentReviewSpec{
		Gate: "production", Source: "github", HostingService: v1alpha1.GitHub, Repository: "acme/shop", Environment: "Production",
		SHA: apitest.SHA, Branch: "main", RunID: 6510844, DeploymentID: 1459888,
		InstallationID: all[0].Spec.InstallationID, RequestedBy: all[0].Spec.RequestedBy,
	}
	if got := all[0].Spec; got != want || got.InstallationID == 0 || got.RequestedBy == "" {
		t.Errorf("got %+v", got)
	}
	if owners := all[0].OwnerReferences; len(owners) != 1 || owners[0].Kind != "DeploymentGate" || owners[0].UID != "uid-gate-acme" {
		t.Errorf("owned by %+v", owners)
	}
	if !strings.Contains(u.Audit.String(), `"review":"`+all[0].Name+`"`) {
		t.Errorf("the audit lines do not name it: %s", u.Audit)
	}
}

func TestNoReview(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		change  []string // of the event
		says    string
	}{
		"without a gate":      {"none decides", nil, nil, "No DeploymentGate"},
		"another environment": {"the gate is for another one", []client.Object{gateIn("acme")}, []string{`"environment": "Production"`, `"environment": "live"`}, "No DeploymentGate"},
		"another source": {"the gate is for another one", []client.Object{gateIn("acme", func(g *v1alpha1.DeploymentGate) { g.Spec.Source = "lab" })},
			nil, "No DeploymentGate"},
		"another repository": {"the source does not cover it", []client.Object{gateIn("acme")}, []string{"acme/shop", "acme/docs"}, "does not list the repository"},
		"an old question":    {"GitHub has given up", []client.Object{gateIn("acme")}, []string{`"created_at": "2026-11-20`, `"created_at": "2026-10-20`}, "30 days"},
	} {
		t.Run(name, func(t *testing.T) {
			listed := func(s *v1alpha1.EventSource) { s.Spec.Repositories = []string{"acme/shop"} }
			u := startHub(t, append(tc.objects, source(listed), eventSecretOf(eventSecret))...)
			body := payload(t, ruleEvent, tc.change...)
			if got := u.take(deliver(ruleEvent, body)); !strings.Contains(got.Ignored, tc.says) || got.Review != "" {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
			if n := len(u.reviews()); n != 0 {
				t.Errorf("%d reviews", n)
			}
		})
	}
}

// TestTooManyReviews: a namespace has a bound, and an ended review does not count.
func TestTooManyReviews(t *testing.T) {
	objects := []client.Object{source(), eventSecretOf(eventSecret), gateIn("acme")}
	for i := range 200 {
		objects = append(objects, &v1alpha1.DeploymentReview{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: fmt.Sprint("review-", i), UID: clientUID(fmt.Sprint("uid-", i))}})
	}
	u := startHub(t, objects...)
	body := payload(t, ruleEvent)
	if w := u.Exchange(deliver(ruleEvent, body)); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "200 deployments") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	ended := u.reviews()[0]
	ended.Status.DeliveredTime = &metav1.Time{Time: time.Unix(1, 0)}
	if err := u.Cluster.Update(context.Background(), &ended); err != nil {
		t.Fatal(err)
	}
	if got := u.take(deliver(ruleEvent, body)); got.Review == "" {
		t.Errorf("got %+v", got)
	}
}

// TestReviewsOfTheApp: one decision is of one team: of that which lists the repository by its name, or of none.
func TestReviewsOfTheApp(t *testing.T) {
	team := func(name string, repositories ...string) client.Object {
		t := apitest.Team(name)
		t.Spec.Repositories = repositories
		return t
	}
	for name, tc := range map[string]struct {
		reason    string
		teams     map[string]string // the repositories of each
		ungated   string            // a team without a gate
		want      string            // the namespaces with a review
		contested bool
	}{
		"one team":               {"it decides", map[string]string{"shop": "acme/*"}, "", "shop", false},
		"one names it":           {"it decides", map[string]string{"shop": "acme/shop", "web": "acme/*"}, "", "shop", false},
		"both name it":           {"neither may approve for the other", map[string]string{"shop": "acme/shop", "web": "github.com/acme/shop"}, "", "shop web", true},
		"neither names it":       {"neither may approve for the other", map[string]string{"shop": "acme/*", "web": "acme/*"}, "", "shop web", true},
		"one has no gate":        {"it has nothing to decide", map[string]string{"shop": "acme/shop", "web": "acme/*"}, "shop", "web", false},
		"one lists another host": {"its repository is another one", map[string]string{"shop": "ghe.example.com/acme/shop", "web": "acme/*"}, "", "web", false},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			for namespace, repositories := range tc.teams {
				objects = append(objects, team(namespace, repositories), source(ofApp, func(s *v1alpha1.EventSource) { s.Namespace = namespace }))
				if namespace != tc.ungated {
					objects = append(objects, gateIn(namespace))
				}
			}
			u := startHub(t, objects...)
			body := payload(t, ruleEvent)
			got := u.take(deliver(ruleEvent, body, toApp(body)))
			var found []string
			for _, r := range u.reviews() {
				found = append(found, r.Namespace)
				if r.Spec.Contested != tc.contested {
					t.Errorf("%s is contested: %t", r.Namespace, r.Spec.Contested)
				}
			}
			if strings.Join(found, " ") != tc.want || got.Review == "" {
				t.Errorf("%s: got %+v and reviews in %q", tc.reason, got, found)
			}
		})
	}
}
