package view_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/view"
)

func testRun(id, sha string) httpapi.TestRun {
	return httpapi.TestRun{ID: id, Place: httpapi.Place{Namespace: "shop"}, SHA: sha, Branch: "main", CreatedAt: now.Add(-time.Hour)}
}

// TestDocument: the page links only to addresses that are safe, and names what it does not know by something else.
func TestDocument(t *testing.T) {
	const green, red = "5ca1ab1e00000000000000000000000000000000", "b776998c00000000000000000000000000000000"
	f := httpapi.Failure{
		Next:   []string{"Run it again."},
		Tested: httpapi.Tested{Namespace: "shop"},
		Changed: &httpapi.Changed{Run: "r0", SHA: green, EndedAt: now.Add(-time.Hour), CompareURL: "https://github.com/acme/shop/compare/a...b",
			Parts: []httpapi.ChangedComponent{
				{Repository: "acme/shop", Service: "cart", From: green, To: red, At: now, CompareURL: "javascript:alert(1)"}, {To: "v2"},
			}},
	}
	want := view.Document{
		Next: []string{"Run it again."},
		Changed: &view.Changed{
			Green: &view.CommitOfRun{ID: "r0", Namespace: "shop", Text: "5ca1ab1e"}, At: view.TimeOf(now.Add(-time.Hour), now),
			Compare: "https://github.com/acme/shop/compare/a...b",
			Parts: []view.ChangedPart{
				{Name: "acme/shop cart", From: "5ca1ab1e", To: "b776998c", At: view.TimeOf(now, now)}, {To: "v2"},
			},
		},
	}
	if diff := cmp.Diff(want, view.DocumentOf(f, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.Changed.SHA = ""
	if got := view.DocumentOf(f, now).Changed.Green.Text; got != "r0" {
		t.Errorf("a green run without a commit is called %q", got)
	}
}

// TestHistoryOfFailures: the document names tests as the results do, and may know fewer.
func TestHistoryOfFailures(t *testing.T) {
	first, before := testRun("r1", "v2"), testRun("r0", "v1")
	tests := &view.Tests{Failures: []view.Failure{{Name: "new"}, {Name: "old"}, {Name: "cut away"}}}
	tests.AddHistory(&httpapi.FailureTests{Failures: []httpapi.FailedTest{
		{TestFailure: httpapi.TestFailure{Name: "new"}, Since: &httpapi.FailingSince{First: first, Before: &before}},
		{TestFailure: httpapi.TestFailure{Name: "old"}, Since: &httpapi.FailingSince{First: before, CompareURL: "javascript:alert(1)"}, Runs: 30, Flaky: 2,
			Repeat: "postflight runs rerun --failed r1"},
		{TestFailure: httpapi.TestFailure{Name: "unknown"}},
	}}, "r1", now)
	link := func(id, text string) *view.CommitOfRun {
		return &view.CommitOfRun{ID: id, Namespace: "shop", Text: text, Branch: "main"}
	}
	at := view.TimeOf(first.CreatedAt, now)
	want := []view.Failure{
		{Name: "new", Since: &view.FailingSince{At: at, Here: true, First: link("r1", "v2"), Before: link("r0", "v1")}},
		{Name: "old", Since: &view.FailingSince{At: at, First: link("r0", "v1")}, Flaky: "flaky in 2 of 30 runs"},
		{Name: "cut away"},
	}
	if diff := cmp.Diff(want, tests.Failures); diff != "" || tests.Repeat != "postflight runs rerun --failed r1" {
		t.Errorf("repeated by %q (-want +got):\n%s", tests.Repeat, diff)
	}
	tests.AddHistory(nil, "r1", now)
}
