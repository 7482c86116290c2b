package pages_test

import (
	"context"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// knownFailures are documents of runs.
type knownFailures func(ctx context.Context, run *runs.Run, f *httpapi.Failure)

// with gives the pages these documents.
func (add knownFailures) with(c *pages.Config) { c.Failures = add }

func (add knownFailures) Read(ctx context.Context, t *v1alpha1.Team, run *runs.Run) httpapi.Failure {
	f := failure.Of(failure.Observation{Suite: run.Suite, Team: t.Name})
	add(ctx, run, &f)
	return f
}

// sampleFailures know when the failed run was green last, and since when its tests fail.
func sampleFailures(c *pages.Config) { knownFailures(addSample).with(c) }

func addSample(_ context.Context, run *runs.Run, f *httpapi.Failure) {
	if "/runs/shop/"+run.ID.ID != failedRun {
		return
	}
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	compare := func(from, to string) string {
		return "https://github.com/acme/shop/compare/" + commit(from) + "..." + commit(to)
	}
	f.Changed = &httpapi.Changed{
		Run: "smoke-0a1b2c3d4e5f", SHA: commit("5e11f1a9"), EndedAt: ago(5 * time.Hour), CompareURL: compare("5e11f1a9", "b776998c"),
		Parts: []httpapi.ChangedComponent{
			{Repository: "acme/shop", From: commit("5e11f1a9"), To: commit("b776998c"), At: ago(13 * minute), CompareURL: compare("5e11f1a9", "b776998c")},
			{Repository: "acme/pay", Service: "ledger", To: commit("0c3a7d21"), At: ago(2 * time.Hour)},
		},
	}
	testRun := func(id, sha string, d time.Duration) httpapi.TestRun {
		return httpapi.TestRun{ID: id, Place: httpapi.Place{Namespace: team, Trigger: "smoke", Environment: "production"}, SHA: commit(sha),
			Branch: "main", CreatedAt: ago(d)}
	}
	before := testRun("smoke-0a1b2c3d4e5f", "5e11f1a9", 5*time.Hour)
	known := map[string]httpapi.FailedTest{
		"checkout › pays with a saved card": {Since: &httpapi.FailingSince{First: testRun(run.ID.ID, "b776998c", 12*minute), Before: &before, Runs: 1,
			CompareURL: compare("5e11f1a9", "b776998c")}, Runs: 48, Repeat: rerun.FailedCommand(run.Suite)},
		"account › deletes an address": {Since: &httpapi.FailingSince{First: testRun("smoke-77d0", "77d01b5e", 26*time.Hour), Runs: 9}, Runs: 48, Flaky: 3},
	}
	f.Tests = &httpapi.FailureTests{}
	for _, failed := range run.Suite.Status.Results.Failures {
		k := known[failed.Name]
		k.Name = failed.Name
		f.Tests.Failures = append(f.Tests.Failures, k)
	}
}

// hostileDocuments have a text wherever a deployment or a test can put one.
type hostileDocuments struct{ text string }

func (d *hostileDocuments) add(_ context.Context, run *runs.Run, f *httpapi.Failure) {
	r := httpapi.TestRun{ID: d.text, Place: httpapi.Place{Namespace: team}, SHA: d.text, Branch: d.text, CreatedAt: time.Now()}
	f.Changed = &httpapi.Changed{Run: d.text, SHA: d.text, EndedAt: time.Now(), CompareURL: d.text,
		Parts: []httpapi.ChangedComponent{{Repository: d.text, Service: d.text, From: d.text, To: d.text, At: time.Now(), CompareURL: d.text}}}
	f.Next = append(f.Next, d.text)
	f.Tests = &httpapi.FailureTests{}
	if run.Suite.Status.Results == nil {
		return
	}
	for _, failed := range run.Suite.Status.Results.Failures {
		f.Tests.Failures = append(f.Tests.Failures, httpapi.FailedTest{TestFailure: httpapi.TestFailure{Name: failure.Name(failed.Name)},
			Since: &httpapi.FailingSince{First: r, Before: &r, CompareURL: d.text}, Runs: 9, Flaky: 1, Repeat: d.text})
	}
}
