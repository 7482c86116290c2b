package hub

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// TestHere: what was here before an Environment moved to another cluster is shown no longer.
func TestHere(t *testing.T) {
	trigger := func(environment string) *v1alpha1.Trigger {
		return &v1alpha1.Trigger{Spec: v1alpha1.TriggerSpec{Environment: environment}}
	}
	run := func(environment, url string) *v1alpha1.Suite {
		s := &v1alpha1.Suite{}
		s.Spec.Environment, s.Spec.Deployment.URL = environment, url
		return s
	}
	preview := suite.EphemeralName("prod", "https://pr-1.example.com")
	triggers := []*v1alpha1.Trigger{trigger("prod"), trigger("staging")}
	runs := []*v1alpha1.Suite{run("prod", ""), run(preview, "https://pr-1.example.com"), run("staging", "")}
	moved := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Spec: v1alpha1.EnvironmentSpec{Cluster: "eu"}}
	if t2, r2 := Here(triggers, runs, nil); len(t2) != 2 || len(r2) != 3 {
		t.Errorf("without clusters, %d Triggers and %d runs are here, want all", len(t2), len(r2))
	}
	t2, r2 := Here(triggers, runs, []*v1alpha1.Environment{moved})
	if len(t2) != 1 || t2[0].Spec.Environment != "staging" || len(r2) != 1 || r2[0].Spec.Environment != "staging" {
		t.Errorf("got %v and %v, want those of staging", t2, r2)
	}
}

// TestWithin: a cluster tells about the Environments that the hub names for it, and about no others.
func TestWithin(t *testing.T) {
	preview := suite.EphemeralName("prod", "https://pr-1.example.com")
	o := httpapi.Overview{}
	for _, name := range []string{"prod", preview, "staging", "prod-eu"} {
		o.Board = append(o.Board, httpapi.BoardTile{Environment: name})
		o.Environments = append(o.Environments, httpapi.OverviewEnvironment{Environment: httpapi.EnvironmentStatus{Name: name}})
	}
	got := Answer{Overview: &o}.Within([]string{"prod"}).Overview
	if len(got.Board) != 2 || len(got.Environments) != 2 || got.Board[1].Environment != preview || len(o.Board) != 4 {
		t.Errorf("got %+v and %+v, want prod and what is derived from it", got.Board, got.Environments)
	}
	if empty := (Answer{}).Within(nil); empty.Overview != nil {
		t.Errorf("got %+v of nothing", empty)
	}
}
