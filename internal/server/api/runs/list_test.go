package runs_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/tier"
)

// stored is a run that was created that many minutes after noon.
func stored(name string, minutes int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	s := apitest.ARun(name, minutes, v1alpha1.Passed("The tests passed."))
	s.CreationTimestamp = metav1.NewTime(apitest.Created(minutes))
	return build.With(s, change...)
}

// asRecord is what the archive has of a Suite.
func asRecord(s *v1alpha1.Suite) record.Record { return record.New(apitest.Namespace, s, nil) }

func TestListRuns(t *testing.T) {
	kept := stored("kept", 3)
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(stored("new", 9), kept, stored("old", 1)),
		Config: apitest.WithArchive(&apitest.FakeArchive{Records: []record.Record{
			asRecord(kept), apitest.Archived("between", 5), apitest.Archived("oldest", -60),
			apitest.Archived("theirs", 2, func(r *httpapi.Run) { r.Team = "other" }),
		}}),
	})
	for limit, want := range map[string]string{
		"1": "new | between | kept | old | oldest | ", "2": "new between | kept old | oldest", "5": "new between kept old oldest | ",
		"100": "new between kept old oldest",
	} {
		if got := h.All(url.Values{"limit": {limit}}); got != want {
			t.Errorf("pages of %s: %q, want %q", limit, got, want)
		}
	}
	page := h.List("")
	if got := page.Runs[1]; got.URL != "/runs/acme/between" || got.Message != "The tests passed." || !got.CreatedAt.Equal(apitest.Created(5)) {
		t.Errorf("the archived run is %+v", got)
	}
}

func TestListRunsWithoutAnArchive(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(stored("new", 9), stored("same-second", 9), stored("old", 1))})
	if got, want := h.All(url.Values{"limit": {"2"}}), "same-second new | old"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	h = apitest.Start(t, apitest.Setup{Objects: apitest.Acme()})
	if w := h.Exchange(apitest.Get(apitest.RunsPath)); w.Body.String() != `{"runs":[]}`+"\n" {
		t.Errorf("no runs: %s", w.Body)
	}
}

func TestFilters(t *testing.T) {
	set := func(change func(*v1alpha1.Suite)) func(*v1alpha1.Suite) { return change }
	h := apitest.Start(t, apitest.Setup{
		Objects: apitest.Acme(
			stored("a", 9, set(func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = "visual" })),
			stored("b", 8, set(func(s *v1alpha1.Suite) { s.Spec.Environment = "production" })),
			stored("c", 7, set(func(s *v1alpha1.Suite) { s.Spec.Deployment.Branch = "refs/heads/main" })),
			stored("d", 6, set(func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = apitest.SHA })),
			stored("e", 5, set(func(s *v1alpha1.Suite) { s.Status.Conditions = nil })),
			stored("f", 4, set(func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "V1.2" })),
		),
		Config: apitest.WithArchive(&apitest.FakeArchive{Records: []record.Record{
			apitest.Archived("g", 3, func(r *httpapi.Run) { r.Trigger, r.State = "visual", v1alpha1.ReasonFailed }),
			apitest.Archived("h", 2, func(r *httpapi.Run) { r.Branch, r.SHA = "main", apitest.SHA }),
		}}),
	})
	for query, want := range map[string]string{
		"trigger=visual":              "a g",
		"trigger=visual&state=Failed": "g",
		"environment=production":      "b",
		"branch=main":                 "c h",
		"branch=refs/heads/main":      "c h",
		"sha=" + apitest.SHA:          "d h",
		"sha=5CA1AB1E":                "d h",
		"sha=5ca1ab":                  "", // too short to be a prefix
		"sha=V1.2":                    "f",
		"sha=v1.2":                    "", // not a commit
		"state=Queued":                "e",
		"state=TimedOut":              "",
		"trigger=unknown":             "",
		"branch=main&sha=5ca1ab1&trigger=smoke&environment=staging&state=Passed": "h",
	} {
		query, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		query.Set("limit", "100")
		if got := h.All(query); got != want {
			t.Errorf("%v: %q, want %q", query, got, want)
		}
	}
}

func TestBadListRequests(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Config: apitest.WithArchive(&apitest.FakeArchive{})})
	cursor := func(text string) string { return "cursor=" + base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, query := range []string{
		"limit=0", "limit=101", "limit=-1", "limit=x", "limit=1&limit=2", "limit=", "state=passed", "state=", "triger=smoke", "%zz",
		"cursor=", "cursor=!", cursor(""), cursor("x/a"), cursor("-5/a"), cursor("5/"), cursor("5/../../x"), cursor("5/a/b"),
		cursor("99999999999999999999/a"),
		cursor("5/" + strings.Repeat("a", 300)), cursor("5/a\n"), "sha=a&sha=b",
	} {
		w := h.Exchange(apitest.Get(apitest.RunsPath + "?" + query))
		if w.Code != http.StatusBadRequest || apitest.Decode[httpapi.Problem](t, w).FailureCode != "invalid_request" {
			t.Errorf("%s: status %d: %s", query, w.Code, w.Body)
		}
	}
}

// TestForeignCursor: a cursor is a place in time, and gives no right to anything.
func TestForeignCursor(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(stored("a", 1)),
		Config: apitest.WithArchive(&apitest.FakeArchive{Records: []record.Record{
			apitest.Archived("secret", 5, func(r *httpapi.Run) { r.Team = "other" }),
		}})})
	for _, from := range []record.Run{{Team: "other", ID: "secret", Created: apitest.Created(6)}, {ID: "z", Created: time.Unix(1<<39, 0)}} {
		page := h.List("?cursor=" + runs.Cursor(from))
		if diff := cmp.Diff([]string{"a"}, apitest.IDs(page.Runs)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestArchiveAway: there are the Suites, page by page, and each page says what is missing.
func TestArchiveAway(t *testing.T) {
	for name, archive := range map[string]*apitest.FakeArchive{"refuses": {Err: errors.New("it refuses connections")}, "hangs": {Hang: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(stored("b", 2), stored("a", 1)), Config: apitest.WithArchive(archive),
					Limits: func(l *limits.Limits) { l.LookupTimeout = 20 * time.Millisecond }})
				first := h.List("?limit=1")
				second := h.List("?limit=1&cursor=" + first.Next)
				if got := fmt.Sprint(apitest.IDs(first.Runs), apitest.IDs(second.Runs)); got != "[b] [a]" || second.Next != "" {
					t.Errorf("%s, and then %q", got, second.Next)
				}
				for _, page := range []httpapi.Runs{first, second} {
					if !strings.Contains(page.ArchiveProblem, "the archive cannot be read at the moment: ") {
						t.Errorf("the problem is %q", page.ArchiveProblem)
					}
				}
			})
		})
	}
}

// TestListingIsBounded: a request looks at few archived runs, and its page leads on.
func TestListingIsBounded(t *testing.T) {
	archive := &apitest.FakeArchive{}
	for i := range 3 * runs.MaxArchiveReads {
		archive.Records = append(archive.Records, apitest.Archived(fmt.Sprintf("r%d", i), -i))
	}
	archive.Records[len(archive.Records)-1].State = v1alpha1.ReasonFailed
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Config: apitest.WithArchive(archive)})
	page := h.List("?state=Failed")
	if len(page.Runs) != 0 || page.Next == "" || archive.Read.Load() != runs.MaxArchiveReads {
		t.Errorf("%d runs after %d records, next %q; want none after %d", len(page.Runs), archive.Read.Load(), page.Next, runs.MaxArchiveReads)
	}
	if got, want := h.All(url.Values{"state": {"Failed"}}), " |  | r599 | "; got != want {
		t.Errorf("the pages are %q, want %q", got, want)
	}
}

// TestRecordOfAnotherRun: what is no record of its run is left out, and hides no other.
func TestRecordOfAnotherRun(t *testing.T) {
	archive := &apitest.FakeArchive{Records: []record.Record{apitest.Archived("a", 3), apitest.Archived("b", 2), apitest.Archived("c", 1)}}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Config: func(c *api.Config) { c.Runs.Archive = swapped{archive} }})
	if diff := cmp.Diff([]string{"b", "c"}, apitest.IDs(h.List("").Runs)); diff != "" {
		t.Error(diff)
	}
}

// swapped has an empty record for a.
type swapped struct{ *apitest.FakeArchive }

func (s swapped) Summaries(ctx context.Context, runs []record.Run) ([]httpapi.Run, error) {
	found, err := s.FakeArchive.Summaries(ctx, runs)
	for i := range found {
		if found[i].ID == "a" {
			found[i] = httpapi.Run{}
		}
	}
	return found, err
}

// TestSuitesAreNotReadFromTheArchive: most runs are in both, and cost nothing there.
func TestSuitesAreNotReadFromTheArchive(t *testing.T) {
	archive := &apitest.FakeArchive{}
	objects := apitest.Acme()
	for i := range 100 {
		s := stored(fmt.Sprintf("r%d", i), -i)
		objects, archive.Records = append(objects, s), append(archive.Records, asRecord(s))
	}
	h := apitest.Start(t, apitest.Setup{Objects: objects, Config: apitest.WithArchive(archive)})
	for _, query := range []string{"?limit=100", "?state=Failed", "?limit=10"} {
		h.List(query)
	}
	if n := archive.Read.Load(); n != 0 {
		t.Errorf("%d records were read, want none", n)
	}
}

// TestPagesOfAnyRuns: whatever is in the cluster, in the archive or in both, the pages have each run once, newest first.
func TestPagesOfAnyRuns(t *testing.T) {
	random, rounds := tier.Random(t), 200
	if tier.Gate() {
		rounds = 50
	}
	for round := range rounds {
		archive := &apitest.FakeArchive{}
		objects := apitest.Acme()
		var want []record.Run
		for i := range random.IntN(30) {
			s := stored(fmt.Sprintf("r%d", random.IntN(1000)*100+i), random.IntN(10))
			state := []metav1.Condition{v1alpha1.Passed(""), v1alpha1.Failed("")}[random.IntN(2)]
			s.Status.Conditions = []metav1.Condition{state}
			place := random.IntN(3)
			if place != 0 {
				objects = append(objects, s)
			}
			if place != 1 {
				archive.Records = append(archive.Records, asRecord(s))
			}
			if state.Reason == v1alpha1.ReasonFailed {
				want = append(want, runs.Position(s))
			}
		}
		slices.SortFunc(want, func(a, b record.Run) int { return b.Compare(a) })
		wanted := []string{}
		for _, r := range want {
			wanted = append(wanted, r.ID)
		}
		h := apitest.Start(t, apitest.Setup{Objects: objects, Config: apitest.WithArchive(archive)})
		h.Validate = false
		got := h.All(url.Values{"state": {"Failed"}, "limit": {fmt.Sprint(1 + random.IntN(5))}})
		if diff := cmp.Diff(wanted, strings.Fields(strings.ReplaceAll(got, "|", ""))); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
	}
}

// TestListingsAreFew: each may read many records.
func TestListingsAreFew(t *testing.T) {
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(stored("a", 1)), Config: apitest.WithArchive(&apitest.FakeArchive{}),
		Limits: func(l *limits.Limits) { l.Archive = 1 }})
	h.Server.Archive.TryAcquire("other")
	if w := h.Exchange(apitest.Get(apitest.RunsPath)); w.Code != http.StatusServiceUnavailable ||
		apitest.Decode[httpapi.Problem](t, w).FailureCode != "overloaded" {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	h.Server.Archive.Release("other")
	for range 3 {
		h.List("")
	}
	if n := h.Server.Archive.InUse() + h.Server.InFlight.InUse(); n != 0 {
		t.Errorf("%d slots are taken after all answers", n)
	}
}
