package view_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view"
)

func TestFilter(t *testing.T) {
	runs := []*v1alpha1.Suite{ // newest first
		run("queued", v1alpha1.Queued("Waiting for a slot."), of("visual", "staging", "feature/pay")),
		run("passed", passed, of("smoke", "staging", "main")),
		run("failed-before", failed, of("smoke", "staging", "main")),
		run("superseded", superseded, of("load", "staging", "main")),
		run("failed-still", failed, of("load", "staging", "main")),
		run("error", v1alpha1.Error("The image is missing."), of("load", "production", "main"), func(s *v1alpha1.Suite) { s.Spec.Deployment.PullRequestNumber = 318 }),
		run("other-commit", passed, of("load", "production", "main"), func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = strings.Repeat("41aa90c2", 5) }),
	}
	cases := map[string]struct {
		reason string
		query  string
		want   string
	}{
		"Everything":        {"An empty query selects all.", "", "queued passed failed-before superseded failed-still error other-commit"},
		"State":             {"It is the reason of the condition.", "state=Failed", "failed-before failed-still"},
		"Unknown state":     {"An old bookmark still works.", "state=Nonsense", "queued passed failed-before superseded failed-still error other-commit"},
		"Look":              {"What passed since needs no look, and what was only superseded does.", "state=look", "failed-still error"},
		"Environment":       {"It is the whole name.", "environment=production", "error other-commit"},
		"Trigger":           {"It is the whole name.", "trigger=visual", "queued"},
		"Branch":            {"It is the whole name.", "branch=feature/pay", "queued"},
		"Commit":            {"The beginning is enough, in any case.", "sha=41AA", "other-commit"},
		"Text in a message": {"People remember words.", "q=IMAGE+is", "error"},
		"Text in an id":     {"People paste ids.", "q=before", "failed-before"},
		"Pull request":      {"People know its number.", "q=%23318", "error"},
		"Two at once":       {"Both hold.", "environment=production&state=Passed", "other-commit"},
		"Nothing":           {"There may be no such run.", "q=zzz", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			q, err := url.ParseQuery(tc.query)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			selected := view.ParseFilter(q).Selector()
			for _, s := range runs {
				if selected(s) {
					got = append(got, s.Name)
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
	if n := view.CountLook(runs); n != 2 {
		t.Errorf("%d runs need a look, want 2", n)
	}
}

// TestFilterInURL: a filter survives the way through a URL, and a page's links lead to what it shows.
func TestFilterInURL(t *testing.T) {
	f := view.Filter{State: "Failed", Environment: "staging", Trigger: "smoke", Branch: "feature/a&b", SHA: "41aa", Text: "über"}
	if diff := cmp.Diff(f, view.ParseFilter(f.Query())); diff != "" {
		t.Error(diff)
	}
	if q := (view.Filter{}).Query(); len(q) != 0 {
		t.Errorf("an empty filter is in the URL: %v", q)
	}
}
