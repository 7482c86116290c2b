package pages_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
	"github.com/postflight-dev/postflight/internal/server/pages"
)

// clusters answer for the teams of a hub.
type clusters struct {
	answer func(team, cluster string) hub.Answer
}

func (c *clusters) with(p *pages.Config) { p.Clusters = c }

func (c *clusters) Of(_ context.Context, team *v1alpha1.Team, all []*v1alpha1.Environment) (answers []hub.Answer, omitted int) {
	for _, t := range delegation.Targets(all) {
		a := c.answer(team.Name, t.Cluster)
		a.Cluster, a.URL = t.Cluster, "https://postflight."+t.Cluster+".example.com"
		answers = append(answers, a)
	}
	return answers, 0
}

// sampleHub is a hub with two teams in up to five clusters, of which two do not answer.
func sampleHub() []client.Object {
	objects := samples()
	for cluster, environments := range map[string][]string{"prod-eu": {"prod-eu"}, "prod-us": {"prod-us", "canary-us"}, "edge": {"edge"},
		"qa": {"qa", "load"}} {
		for _, name := range environments {
			objects = append(objects, elsewhere(team, name, cluster))
		}
	}
	return append(objects, elsewhere("rival", "prod-eu", "prod-eu"), elsewhere("rival", "qa", "qa"))
}

func elsewhere(namespace, name, cluster string) *v1alpha1.Environment {
	return &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: v1alpha1.EnvironmentSpec{Cluster: cluster, URL: "https://" + name + ".shop.example.com"}}
}

// sampleAnswer is what a cluster says: prod-us is unavailable for some minutes, and edge has never answered.
func sampleAnswer(name, cluster string) hub.Answer {
	now := time.Now()
	if cluster == "edge" {
		return hub.Answer{Problem: "does not answer"}
	}
	a := hub.Answer{AnsweredAt: now, Took: map[string]time.Duration{"prod-eu": 18, "prod-us": 44, "qa": 140}[cluster] * time.Millisecond}
	if cluster == "prod-us" {
		a.AnsweredAt, a.Problem = now.Add(-4*time.Minute), "did not answer within 10s"
	}
	a.Overview = new(hub.Bounded(hub.OverviewOf(sampleSubject(name, cluster), a.AnsweredAt)))
	return a
}

// sampleSubject is what a team has in a cluster.
func sampleSubject(name, cluster string) hub.Subject {
	s := hub.Subject{Team: &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}}, PublicURL: "https://postflight." + cluster + ".example.com"}
	names := map[string][]string{"prod-eu": {"prod-eu"}, "prod-us": {"prod-us"}, "qa": {"qa", "load"}}[cluster]
	sha := commit("b776998c")
	for i, environment := range names {
		s.Environments = append(s.Environments, &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: environment, Namespace: name},
			Spec: v1alpha1.EnvironmentSpec{URL: "https://" + environment + ".shop.example.com"},
			Status: v1alpha1.EnvironmentStatus{Deployed: []v1alpha1.Deployed{{Repository: "acme/" + name, SHA: sha, Branch: "main",
				Since: new(metav1.NewTime(time.Now().Add(-time.Duration(40+i*50) * minute))), ReportedBy: v1alpha1.ReportedByNotification}}}})
		for n, trigger := range []string{"checkout", "smoke", "visual"}[:3-i] {
			condition, results := v1alpha1.Passed("All 64 tests passed."), passed(64)
			if cluster == "qa" && trigger == "checkout" && name == team {
				condition, results = v1alpha1.Failed("1 of 64 tests failed, the first: checkout › pays with a saved card."), &v1alpha1.TestResults{
					Tests: 64, Passed: 63, Failed: 1}
			}
			ago, took := time.Duration(12+n*9+i*50)*minute, 4*minute
			if cluster == "qa" && trigger == "visual" {
				condition, results = v1alpha1.Queued("Waiting for a slot of Trigger visual, at position 2 in the queue."), nil
				took = 0
			}
			s.Runs = append(s.Runs, run{id: fmt.Sprintf("%s-%s", trigger, strings.ToLower(sha[:6])), trigger: trigger, environment: environment,
				branch: "main", sha: sha, ago: ago, waited: 6 * time.Second, took: took, condition: condition, results: results,
				change: func(r *v1alpha1.Suite) { r.Namespace = name }}.suite())
			if i == 0 {
				s.Triggers = append(s.Triggers, &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: trigger, Namespace: name},
					Spec: v1alpha1.TriggerSpec{Environment: environment}})
			}
		}
	}
	return s
}

// hubPages are those that show clusters.
var hubPages = map[string]string{"hub-teams": "/teams", "hub-board": "/board/shop", "hub-environments": "/environments/shop",
	"hub-runs": "/runs/shop", "hub-runs-elsewhere": "/runs/rival", "hub-tests-elsewhere": "/tests/rival",
	"hub-triggers-elsewhere": "/triggers/rival",
	"hub-environment":        "/environments/shop/prod-eu", "hub-environment-silent": "/environments/shop/edge"}
