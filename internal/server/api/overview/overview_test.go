package overview_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/test/apitest"
)

const overviewPath = "/api/v0/overview"

// TestOverview: a team gets what it has, with links to its own pages, and nothing of another team or of its variables.
func TestOverview(t *testing.T) {
	broken := apitest.Trigger("broken")
	broken.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "Bad glob."}}
	theirs := anEnvironment("theirs")
	theirs.Namespace = "other"
	failed := apitest.ARun("smoke-2", 2, v1alpha1.Failed("1 of 3 tests failed."))
	failed.Spec.Variables = v1alpha1.Variables{"PASSWORD": "hunter2"}
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(apitest.Trigger("smoke"), broken, anEnvironment("production"), theirs,
			apitest.ARun("smoke-1", 1, v1alpha1.Passed("")), failed),
		Config: func(c *api.Config) { c.PublicURL = "https://postflight.example.com" },
	})
	w := h.Exchange(apitest.Get(overviewPath))
	if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "hunter2") || strings.Contains(w.Body.String(), "theirs") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	o := apitest.Decode[httpapi.Overview](t, w)
	if o.Team != apitest.Namespace || o.PageURL != "https://postflight.example.com/runs/acme" || o.NotWorking != 1 || o.Failing != 1 ||
		!strings.HasPrefix(o.NeedsLook, "The Trigger broken does not work: Bad glob.") {
		t.Errorf("%+v", o)
	}
	if len(o.Runs) != 1 || o.Runs[0].ID != "smoke-2" || o.Runs[0].URL != "https://postflight.example.com/runs/acme/smoke-2" {
		t.Errorf("only the newest run is named, once: %+v", o.Runs)
	}
	var tiles, places []string
	for _, tile := range o.Board {
		tiles = append(tiles, tile.Trigger+" "+tile.Run+" "+strings.Join(tile.Trail, ","))
	}
	for _, e := range o.Environments {
		places = append(places, e.Environment.Name+" "+strings.Join(e.Runs, ",")+" "+e.Environment.PageURL)
	}
	if got, want := strings.Join(tiles, "; "), "broken  ; smoke smoke-2 passed,failed"; got != want {
		t.Errorf("the board has %q, want %q", got, want)
	}
	if got, want := strings.Join(places, "; "), "production  https://postflight.example.com/environments/acme/production; "+
		"staging smoke-2 https://postflight.example.com/environments/acme/staging"; got != want {
		t.Errorf("the Environments are %q, want %q", got, want)
	}
	if w := h.Exchange(apitest.Get(overviewPath + "?team=other")); w.Code != http.StatusBadRequest {
		t.Errorf("an unknown parameter: %d", w.Code)
	}
}

// TestOverviewForAHub: a hub that asks about one Environment learns nothing of another.
func TestOverviewForAHub(t *testing.T) {
	onProduction := func(t *v1alpha1.Trigger) { t.Spec.Environment = "production" }
	elsewhere := apitest.ARun("secret-1", 1, v1alpha1.Failed("1 of 3 tests failed."))
	elsewhere.Spec.Trigger.Name, elsewhere.Spec.Environment = "secret", "production"
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(apitest.Trigger("smoke"), apitest.Trigger("secret", onProduction),
		apitest.EnvironmentNamed("production"), apitest.ARun("smoke-1", 1, v1alpha1.Passed("")), elsewhere)})
	header, err := delegation.Delegation{Hub: "hub", For: "a page", Environments: []string{"staging"}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	r := apitest.Get(overviewPath)
	if all := h.Exchange(r).Body.String(); !strings.Contains(all, "secret-1") || !strings.Contains(all, "production") {
		t.Errorf("the team itself gets %s", all)
	}
	r.Header.Set(delegation.Header, header)
	w := h.Exchange(r)
	if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "secret") || strings.Contains(w.Body.String(), "production") ||
		!strings.Contains(w.Body.String(), "smoke-1") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestOverviewUnavailable(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme()})
	h.Topics.Overview.Cache = interceptor.NewClient(h.Cluster, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("away")
		},
	})
	if w := h.Exchange(apitest.Get(overviewPath)); w.Code != http.StatusServiceUnavailable ||
		apitest.Decode[httpapi.Problem](t, w).FailureCode != "unavailable" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
