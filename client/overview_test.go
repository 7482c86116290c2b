package client_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// TestOverview: paths of a server that does not know its URL become links.
func TestOverview(t *testing.T) {
	url := serveDocumented(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, httpapi.Overview{
			Team: "acme", Namespace: "acme", At: tuesday, PageURL: "/runs/acme", Newest: []string{"smoke-1"}, Runs: []httpapi.Run{aRun("smoke-1")},
			Board: []httpapi.BoardTile{{Trigger: "smoke", Environment: "staging", Run: "smoke-1", URL: "/triggers/acme/smoke"}},
			Environments: []httpapi.OverviewEnvironment{{Runs: []string{"smoke-1"}, Environment: httpapi.EnvironmentStatus{
				Name: "staging", Team: "acme", Namespace: "acme", Deployed: []httpapi.Deployed{}, PageURL: "/environments/acme/staging"}}},
		})
	})
	o, err := connect(t, url).Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := []string{o.PageURL, o.Board[0].URL, o.Environments[0].Environment.PageURL, o.Runs[0].URL}
	if links := strings.ReplaceAll(strings.Join(got, " "), url, ""); !o.At.Equal(tuesday) || strings.Count(strings.Join(got, " "), url) != 4 ||
		links != "/runs/acme /triggers/acme/smoke /environments/acme/staging /runs/acme/smoke-1" {
		t.Errorf("%q", got)
	}
}
