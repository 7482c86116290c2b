package pages_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
	"github.com/postflight-dev/postflight/internal/server/pages"
)

// TestWithoutClusters: a hub whose Environments are all its own has the pages of any other Postflight.
func TestWithoutClusters(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	frozen := func(c *pages.Config) { c.Clock = now }
	objects := samples()
	plain, asHub := newWorld(t, objects, frozen), newWorld(t, objects, frozen, (&clusters{sampleAnswer}).with)
	for _, path := range []string{"/teams", "/board/shop", "/environments/shop", "/environments/shop/staging", "/runs/shop",
		"/runs/shop?environment=staging", "/triggers/shop", "/tests/shop", "/insights/shop"} {
		a, b := plain.browser(t, bothKey).get(path), asHub.browser(t, bothKey).get(path)
		if diff := cmp.Diff(strings.Split(a.body, "\n"), strings.Split(b.body, "\n")); diff != "" || a.code != http.StatusOK {
			t.Errorf("%s: %d, without clusters (-) and with (+):\n%s", path, a.code, diff)
		}
	}
}

// TestHubPages: each thing of a cluster has the cluster's name, and leads there; what is old or unknown says so.
func TestHubPages(t *testing.T) {
	b := newWorld(t, sampleHub(), (&clusters{sampleAnswer}).with).browser(t, bothKey)
	for path, want := range map[string][]string{
		"/teams": {"2 clusters do not answer: edge, prod-us.", "no answer for 4 minutes", "2 teams, 140 ms", "as of 4 minutes ago",
			"The cluster prod-us did not answer within 10s.</p>",
			"Nothing is known: it does not answer.", `href="https://postflight.qa.example.com/runs/shop/checkout-b77699"`,
			"checkout fails on load; it began 1 hour ago."},
		"/board/shop": {"The cluster prod-us did not answer within 10s. What is shown of it is 4 minutes old.", `title="in the cluster qa"`,
			"Nothing is shown of the cluster edge: it does not answer.",
			`href="https://postflight.prod-eu.example.com/runs/shop/smoke-b77699" rel="noopener noreferrer"`},
		"/environments/shop": {`href="https://postflight.qa.example.com/environments/shop/load" rel="noopener noreferrer"`, "as of 4 minutes ago",
			"The team has no Environment canary-us in the cluster prod-us. Create it there.", `href="/environments/shop/staging"`},
		"/environments/shop/qa": {"The cluster <b>qa</b> has this Environment",
			`href="https://postflight.qa.example.com/environments/shop/qa" rel="noopener noreferrer">Open its page in qa`},
		"/environments/shop/edge": {"Nothing is known of it: the cluster edge does not answer."},
	} {
		got := b.get(path)
		for _, text := range want {
			if !strings.Contains(strings.Join(strings.Fields(got.body), " "), text) {
				t.Errorf("%s: %d, without %q", path, got.code, text)
			}
		}
	}
	if alone := newWorld(t, sampleHub()).browser(t, bothKey).get("/environments/shop/qa"); !strings.Contains(alone.body, "asks no other clusters") {
		t.Errorf("a manager that is no hub: %d", alone.code)
	}
}

// TestEverythingElsewhere: the pages of a team with nothing here lead to its clusters, and not to steps that the hub refuses.
func TestEverythingElsewhere(t *testing.T) {
	asHub := newWorld(t, sampleHub(), (&clusters{sampleAnswer}).with).browser(t, bothKey)
	alone := newWorld(t, sampleHub()).browser(t, bothKey)
	there := func(what, environments, cluster, path string) string {
		return what + " of <b>" + environments + "</b> are in the cluster <a href=\"https://postflight." + cluster + ".example.com" + path + "\" rel"
	}
	for path, tc := range map[string]struct{ says, not []string }{
		"/runs/rival": {[]string{there("Runs", "prod-eu", "prod-eu", "/runs/rival"), there("Runs", "qa", "qa", "/runs/rival")},
			[]string{"three steps", "<option"}},
		"/runs/rival?environment=qa": {[]string{there("Runs", "qa", "qa", "/runs/rival?environment=qa")}, []string{"No run fits", "prod-eu"}},
		"/runs/shop": {[]string{there("Runs", "canary-us and prod-us", "prod-us", "/runs/shop"), there("Runs", "edge", "edge", ""),
			"<option>staging"}, []string{"<option>qa"}},
		"/runs/shop?environment=staging": {[]string{"<option selected>staging"}, []string{"are in the cluster"}},
		"/runs/shop?environment=nope":    {[]string{"No run fits"}, []string{"are in the cluster"}},
		"/triggers/rival":                {[]string{there("Triggers", "qa", "qa", "/triggers/rival")}, []string{"three steps"}},
		"/triggers/shop":                 {[]string{there("Triggers", "load and qa", "qa", "/triggers/shop"), "checkout"}, nil},
		"/board/rival":                   {[]string{"in the cluster qa"}, []string{"Triggers of", "Nothing to show yet"}},
		"/tests/rival":                   {[]string{there("Tests", "qa", "qa", "/tests/rival")}, nil},
		"/insights/rival":                {[]string{there("Insights", "qa", "qa", "/insights/rival")}, nil},
	} {
		expect(t, asHub.get(path), path, tc.says, tc.not)
	}
	expect(t, alone.get("/board/rival"), "the board of no hub", []string{"Triggers of <b>qa</b> are in the cluster qa."}, []string{"first Trigger"})
}

// expect looks for texts of a page, with single spaces.
func expect(t *testing.T, got answer, page string, says, not []string) {
	t.Helper()
	body := strings.Join(strings.Fields(got.body), " ")
	for _, text := range says {
		if !strings.Contains(body, text) {
			t.Errorf("%s: %d, without %q", page, got.code, text)
		}
	}
	for _, text := range not {
		if strings.Contains(body, text) {
			t.Errorf("%s: %d, with %q", page, got.code, text)
		}
	}
}

// hostileAnswer has a text wherever a cluster can put one.
func hostileAnswer(text string) hub.Answer {
	deployed := httpapi.Deployed{Repository: text, Service: text, SHA: text, Branch: text, Message: text, Ready: new(false)}
	r := httpapi.Run{ID: text, Team: text, Namespace: text, Trigger: text, Environment: text, State: text, Message: text, Branch: text, SHA: text,
		CommitMessage: text, CommitAuthor: text, CommitURL: text, DeploymentURL: text, Repository: text, Service: text, Origin: "Notification",
		URL: text, Results: &httpapi.TestResults{Tests: 2, Passed: 1, Failed: 1}}
	place := httpapi.EnvironmentStatus{Name: text, Team: text, Namespace: text, URL: text, Ready: new(false), Message: text, PageURL: text,
		Deployed: []httpapi.Deployed{deployed}, Hold: &httpapi.EnvironmentHold{Until: time.Now().Add(time.Hour), Reason: text, HeldBy: text}}
	bare := place
	bare.Deployed = nil
	named := place
	named.Name = "qa" // as the hub calls it
	return hub.Answer{AnsweredAt: time.Now().Add(-time.Minute), Problem: plaintext.Line(text, 300), Overview: new(hub.Bounded(httpapi.Overview{
		Team: text, Namespace: text, PageURL: text, NeedsLook: text, Omitted: text, Newest: []string{text}, Queued: 1 << 40, Failing: 1,
		Board: []httpapi.BoardTile{{Trigger: text, Environment: text, Service: text, Run: text, Streak: text, Trail: []string{text, "passed"},
			URL: text}, {Trigger: text, Environment: text, NotWorking: true, Message: text, URL: text}},
		Environments: []httpapi.OverviewEnvironment{{Environment: place, Runs: []string{text}}, {Environment: bare, LastDeployment: text}, {Environment: named, Runs: []string{text}}},
		Runs:         []httpapi.Run{r},
	}))}
}

// TestHostileCluster: a cluster that was taken over adds no element and no attribute to the pages of its hub, and no link but to itself.
func TestHostileCluster(t *testing.T) {
	c := &clusters{}
	objects := append(emptyTeams(), elsewhere(team, "qa", "qa"), elsewhere("rival", "qa", "qa"))
	b := newWorld(t, objects, c.with).browser(t, bothKey)
	paths := []string{"/teams", "/board/shop", "/environments/shop", "/environments/shop/qa", "/runs/shop", "/triggers/shop"}
	known := map[string]bool{}
	for _, harmless := range []string{"plain", "https://postflight.qa.example.com/a"} {
		c.answer = func(string, string) hub.Answer { return hostileAnswer(harmless) }
		for _, path := range paths {
			got := b.get(path)
			if want := strings.ReplaceAll(harmless, "/", "%2F"); !strings.Contains(got.body, harmless) && !strings.Contains(got.body, want) {
				t.Errorf("%s: %d, without the text", path, got.code)
			}
			maps.Copy(known, markup(got.body))
		}
	}
	own := []string{"", "postflight.qa.example.com", "qa.shop.example.com", "github.com"}
	for _, text := range append(slices.Clone(hostile), "https://evil.example/a", strings.Repeat("W", 1<<20)) {
		c.answer = func(string, string) hub.Answer {
			return hostileAnswer(strings.ReplaceAll(text, "EVIL", "http://evil.example"))
		}
		for _, path := range paths {
			got := b.get(path)
			if got.code != http.StatusOK || len(got.body) > 60<<10 {
				t.Errorf("%s with %.60q: %d, %d bytes", path, text, got.code, len(got.body))
			}
			for part := range markup(got.body) {
				if !known[part] {
					t.Errorf("%s with %.60q has %s", path, text, part)
				}
			}
			for _, to := range addresses(got.body) {
				u, err := url.Parse(to)
				if err != nil || !slices.Contains(own, u.Host) || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
					t.Errorf("%s with %.60q leads to %q, %v", path, text, to, err)
				}
			}
		}
	}
}
