package pages_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestEnvironmentPage: it says first what is wrong, names who tested what is deployed, and leads to other days.
func TestEnvironmentPage(t *testing.T) {
	h := newHarness(t, samples())
	b := h.browser(t, readKey)
	for path, want := range map[string][]string{
		"/environments/shop": {`href="/environments/shop/staging"`, "workloadNamespaces", `<b>acme/search</b>`, "30b1c9d2 comes: 1 of 3 replicas"},
		"/environments/shop/staging": {"The rollout of acme/search is not complete.", "by the rollout", "by CI", "Nothing tested it.",
			`href="/runs/shop/load-9ttt"`, "<title>load: Timed out at", "?day=", "Deployed</td>"},
		"/environments/shop/staging?day=2020-01-01": {"Wednesday, 1 January 2020", "Nothing is known to have been deployed", ">Today</a>"},
		"/environments/shop/staging?day=%3Cscript":  {">Today</h2>"},
		"/environments/shop/device-lab":             {"No workload of this Environment says its commit yet"},
		"/environments/shop/pr-318":                 {"kubectl patch environments.postflight.dev pr-318 -n shop", "Nothing says what is deployed now."},
	} {
		got := b.get(path)
		for _, text := range want {
			if !strings.Contains(got.body, text) {
				t.Errorf("%s: %d, without %q", path, got.code, text)
			}
		}
	}
	for path, key := range map[string]string{"/environments/shop/nope": readKey, "/environments/shop/staging": otherKey, "/environments/rival/staging": readKey} {
		if got := h.browser(t, key).get(path); got.code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, got.code)
		}
	}
}
