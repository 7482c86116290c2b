package runs_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/test/apitest"
)

// deployedAs ends a run of a commit.
func deployedAs(sha string, minutes int) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Spec.Deployment.Repository, s.Spec.Deployment.SHA = "acme/shop", sha
		s.Spec.Deployment.CommitURL = "https://github.com/acme/shop/commit/" + sha
		s.Status.CompletionTime = new(metav1.NewTime(apitest.Created(minutes)))
	}
}

// TestGetFailure: one document has what reports, the log and earlier runs say, and a store that is off leaves the rest.
func TestGetFailure(t *testing.T) {
	was, is := strings.Repeat("a", 40), strings.Repeat("b", 40)
	green, run := stored("green", 1), stored("a", 10)
	deployedAs(was, 2)(green)
	deployedAs(is, 11)(run)
	run.Status.Conditions = nil
	failedTests(run)
	archive := func() *apitest.FakeArchive {
		return &apitest.FakeArchive{
			Documents: []record.Results{documentOf(t, "pod-1")},
			LogTexts:  map[string]string{record.Of(apitest.Namespace, run).LogKey("pod-1", "test", false): "start\nrunning pays\nError: expect failed\n\x1b[31mred\x1b[0m \u202eend\nlast\n"},
		}
	}
	for name, tc := range map[string]struct {
		reason  string
		archive *apitest.FakeArchive
		text    string // of the failure
		log     bool
		omitted bool
	}{
		"all":              {"each part is there", archive(), "Locator: x", true, false},
		"the store is off": {"what the Suite knows is there, and what is missing is said", &apitest.FakeArchive{Err: errors.New("off")}, "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(green.DeepCopy(), run.DeepCopy()), Config: apitest.WithArchive(tc.archive)})
			f := apitest.Decode[httpapi.Failure](t, h.Exchange(apitest.Get(apitest.RunsPath+"/a/failure")))
			if f.Run != "a" || f.Green || !strings.Contains(f.Summary, "1 of 2 tests failed") || len(f.Next) == 0 || len(f.Tests.Failures) != 1 {
				t.Fatalf("%s\n%+v", tc.reason, f)
			}
			if got := f.Tests.Failures[0]; got.Name != "pays" || !strings.HasPrefix(got.Text, tc.text) || (got.Text == "") != (tc.text == "") {
				t.Errorf("%s\n%+v", tc.reason, got)
			}
			if c := f.Changed; c == nil || c.Run != "green" || len(c.Parts) != 1 || c.Parts[0].To != is ||
				c.CompareURL != "https://github.com/acme/shop/compare/"+was+"..."+is {
				t.Errorf("%s\nchanged: %+v", tc.reason, c)
			}
			if (f.Log != nil) != tc.log || strings.Contains(strings.Join(f.Omitted, " "), "cannot be read") != tc.omitted {
				t.Errorf("%s\nlog %+v, omitted %q", tc.reason, f.Log, f.Omitted)
			}
			if tc.log && !slices.Equal(f.Log.Lines, []string{"start", "running pays", "Error: expect failed", "red end", "last"}) {
				t.Errorf("%s\n%q", tc.reason, f.Log.Lines)
			}
			w := h.Exchange(apitest.Get(apitest.RunsPath+"/a/failure"), apitest.Header("Accept", "text/markdown, application/json;q=0.5"))
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/markdown; charset=utf-8" ||
				!strings.Contains(w.Body.String(), "`pays`") || strings.Contains(w.Body.String(), "https://s3.") {
				t.Errorf("%s\n%d %s", tc.reason, w.Code, w.Body)
			}
		})
	}
}

// TestFailureOfOthers: a sender that may only know how runs end reads no log by the document, and another team's run does not exist.
func TestFailureOfOthers(t *testing.T) {
	other := stored("b", 1)
	other.Namespace = "other"
	only := apitest.Granting{"outcome": {Actions: []grant.Action{grant.Outcome}}, "read": {Actions: []grant.Action{grant.Read}}}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(stored("a", 1), other), Ways: []auth.Way{only}})
	for _, tc := range []struct {
		run, token string
		want       int
	}{{"a", "read", http.StatusOK}, {"a", "outcome", http.StatusForbidden}, {"b", "read", http.StatusNotFound}} {
		if w := h.Exchange(apitest.Get(apitest.RunsPath+"/"+tc.run+"/failure"), apitest.Bearer("token-"+tc.token)); w.Code != tc.want {
			t.Errorf("%+v: %d %s", tc, w.Code, w.Body)
		}
	}
}
