package failure_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	shared "github.com/postflight-dev/postflight/test/hostile"
)

// said is a run of which everything that a test, a commit or a program wrote is one text.
func said(text string) failure.Observation {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	failed := v1alpha1.Failed(text)
	failed.LastTransitionTime = metav1.NewTime(at)
	one := v1alpha1.TestFailure{Name: text, File: text, Line: 1, Message: text, History: v1alpha1.FailureNew}
	run := httpapi.TestRun{ID: "smoke-0", SHA: text, Repository: text, Branch: text, Message: text, CreatedAt: at.Add(-time.Hour)}
	o := failure.Observation{
		Team: "acme", Page: "https://ci.example.com/runs/acme/smoke-1",
		Suite: &v1alpha1.Suite{
			ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke-1", CreationTimestamp: metav1.NewTime(at)},
			Spec: v1alpha1.SuiteSpec{
				Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging", Origin: v1alpha1.OriginNotification,
				Deployment: v1alpha1.Deployment{
					Branch: text, SHA: text, URL: text, CommitURL: text, CommitMessage: text, CommitAuthor: text, Repository: text, Service: text,
				},
			},
			Status: v1alpha1.SuiteStatus{
				Conditions: []metav1.Condition{failed}, PodProblem: text, CompletionTime: new(metav1.NewTime(at)),
				Results: &v1alpha1.TestResults{Tests: 2, Passed: 1, Failed: 1, NewFailures: 1, ComparedWith: "smoke-0", Failures: []v1alpha1.TestFailure{one}},
				UnderTest: &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{
					{Kind: "Deployment", Name: "shop", Start: &v1alpha1.WorkloadVersion{
						UID: "x", SHA: text, Revision: text, Message: text, Digests: []v1alpha1.ImageDigest{{Container: "shop", Digest: text}}}}}},
			},
		},
		Explanation: &results.Explanation{Failures: []results.Explained{
			{Failure: results.Failure{TestFailure: one, Text: text}, Pod: "smoke-1-0", Files: []results.File{{Path: text, Bytes: 1}}}}},
	}
	o.History = map[string]failure.TestHistory{text: failure.HistoryOf(httpapi.TestInPlace{
		Runs: 9, Flaky: 1, Failing: &httpapi.FailingSince{First: run, Before: &run, Runs: 2},
	}, o.Suite)}
	green := o.Suite.DeepCopy()
	green.Name, green.Spec.Deployment.SHA = "smoke-0", "before "+text
	o.Changed = failure.ChangedSince(green, o.Suite, []httpapi.Deployed{{Repository: text, Service: "cart", SHA: "before " + text, Branch: text}},
		[]httpapi.Deployed{{Repository: text, Service: "cart", SHA: text, Branch: text, Since: &at}})
	excerpt := failure.NewExcerpt(text)
	for line := range strings.Lines(text) {
		excerpt.Add([]byte(line))
	}
	o.Log = excerpt.Of("smoke-1-0", "tests")
	return o
}

// TestHostileInputs: the document shows whatever a test, a commit or a program wrote as data, and has room for all of it.
func TestHostileInputs(t *testing.T) {
	for _, input := range shared.Inputs() {
		t.Run(input.Name, func(t *testing.T) {
			f := failure.Of(said(input.Text))
			document, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			shared.JSON(t, "the document", document, failure.MaxBytes)
			shared.Markdown(t, "the Markdown", failure.Markdown(f), failure.MaxBytes, "https://ci.example.com/")
			if f.Tests == nil || len(f.Tests.Failures) != 1 || f.Tests.Failures[0].Name == "" {
				t.Errorf("it lacks the test that failed: %+v", f.Tests)
			}
		})
	}
}
