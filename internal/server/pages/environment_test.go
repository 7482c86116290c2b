package pages_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/server/pages"
)

// TestEnvironmentPage: it says first what is wrong, names who tested what is deployed, and leads to other days.
func TestEnvironmentPage(t *testing.T) {
	h := newWorld(t, samples())
	b := h.browser(t, readKey)
	received := time.Now().UTC().Add(-2 * time.Hour).Format(time.DateOnly) // the day of load-9ttt, which is yesterday soon after midnight
	for path, want := range map[string][]string{
		"/environments/shop": {`href="/environments/shop/staging"`, "workloadNamespaces", `<b>acme/search</b>`,
			"30b1c9d2 comes: 1 of 3 replicas"},
		"/environments/shop/staging": {"The rollout of acme/search is not complete.", "by the rollout", "by CI", "Nothing tested it.",
			"?day=", "Deployed</td>"},
		"/environments/shop/staging?day=" + received: {`href="/runs/shop/load-9ttt"`, "<title>load: Timed out at"},
		"/environments/shop/staging?day=2020-01-01":  {"Wednesday, 1 January 2020", "Nothing is known to have been deployed", ">Today</a>"},
		"/environments/shop/staging?day=%3Cscript":   {">Today</h2>"},
		"/environments/shop/device-lab":              {"by CI"},
		"/environments/shop/pr-318":                  {"by CI", "0d4c77e1"},
	} {
		got := b.get(path)
		for _, text := range want {
			if !strings.Contains(got.body, text) {
				t.Errorf("%s: %d, without %q", path, got.code, text)
			}
		}
	}
	for path, key := range map[string]string{"/environments/shop/nope": readKey, "/environments/shop/staging": otherKey,
		"/environments/rival/staging": readKey} {
		if got := h.browser(t, key).get(path); got.code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, got.code)
		}
	}
}

// TestEnvironmentPageWithoutRuns says how an Environment gets to know what is deployed.
func TestEnvironmentPageWithoutRuns(t *testing.T) {
	b := newWorld(t, append(emptyTeams(), sampleEnvironments()...)).browser(t, readKey)
	for path, want := range map[string]string{
		"/environments/shop/device-lab": "No workload of this Environment says its commit yet",
		"/environments/shop/pr-318":     "kubectl patch environments.postflight.dev pr-318 -n shop",
	} {
		if got := b.get(path); !strings.Contains(got.body, want) {
			t.Errorf("%s: %d, without %q", path, got.code, want)
		}
	}
}

// TestArchivedDayOfAnEnvironment asks the archive for a day that is over, and does without it.
func TestArchivedDayOfAnEnvironment(t *testing.T) {
	var asked []string
	problem := error(nil)
	h := newWorld(t, samples(), func(c *pages.Config) {
		c.Deployments = func(_ context.Context, team *v1alpha1.Team, name string, in record.Span) ([]httpapi.Deployment, error) {
			asked = append(asked, team.Name+" "+name+" "+in.After.Format(time.DateOnly)+" "+in.Before.Format(time.DateOnly))
			return []httpapi.Deployment{{Repository: "acme/archived", SHA: "f00dcafe", Since: in.After.Add(time.Hour)}}, problem
		}
	})
	b := h.browser(t, readKey)
	if got := b.get("/environments/shop/staging?day=2020-01-01"); !strings.Contains(got.body, "acme/archived") ||
		!strings.Contains(got.body, "f00dcafe") {
		t.Errorf("%d: %s", got.code, got.body)
	}
	if got := b.get("/environments/shop/staging"); got.code != http.StatusOK || len(asked) != 1 ||
		asked[0] != "shop staging 2020-01-01 2020-01-02" {
		t.Errorf("asked %q", asked)
	}
	problem = errors.New("it refuses connections")
	if got := b.get("/environments/shop/staging?day=2020-01-01"); got.code != http.StatusOK {
		t.Errorf("without the archive: %d", got.code)
	}
}
