package results_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

func TestExplain(t *testing.T) {
	failure := func(name, message string) v1alpha1.TestFailure {
		return v1alpha1.TestFailure{Name: name, Message: message}
	}
	doc := func(minute int, failures ...results.Failure) results.Document {
		return results.Document{Started: start.Add(time.Duration(minute) * time.Minute), Failures: failures,
			Counts: results.Counts{Reports: 1, Failed: int32(len(failures)), Passed: 2, Flaky: 2}, FlakyTests: []string{"f1", "f2"}, Files: []results.File{{Path: "a.png", Bytes: 9}}}
	}
	x := results.Failure{TestFailure: failure("x", "the whole message"), Text: "text", Attachments: []string{"b.png", "a.png"}}
	again := results.Failure{TestFailure: failure("x", "again"), Text: "again"}
	for name, tc := range map[string]struct {
		reason    string
		documents []results.Document
		want      []results.Explained
		flaky     []string
	}{
		"None":            {"The status is all there is.", nil, []results.Explained{{Failure: results.Failure{TestFailure: failure("x", "the …")}}, {Failure: results.Failure{TestFailure: failure("y", "m")}}}, []string{"f1"}},
		"One":             {"It has the whole message.", []results.Document{doc(0, x)}, []results.Explained{{x, "pod-0", []results.File{{Path: "a.png", Bytes: 9}}}, {Failure: results.Failure{TestFailure: failure("y", "m")}}}, []string{"f1", "f2"}},
		"The last counts": {"It is the same test.", []results.Document{doc(1, again), doc(0, x)}, []results.Explained{{again, "pod-0", nil}, {Failure: results.Failure{TestFailure: failure("y", "m")}}}, []string{"f1", "f2"}},
		"Another one's":   {"It is not in the status.", []results.Document{doc(0, results.Failure{TestFailure: failure("z", "m"), Text: "z"})}, []results.Explained{{Failure: results.Failure{TestFailure: failure("x", "the …")}}, {Failure: results.Failure{TestFailure: failure("y", "m")}}}, []string{"f1", "f2"}},
	} {
		t.Run(name, func(t *testing.T) {
			status := &v1alpha1.TestResults{Flaky: 2, FlakyTests: []string{"f1"}, Failures: []v1alpha1.TestFailure{
				{Name: "x", Message: "the …", History: v1alpha1.FailureNew}, failure("y", "m")}}
			e := results.NewExplainer(status)
			for i, d := range tc.documents {
				e.Add([]string{"pod-0", "pod-1"}[i], d)
			}
			for i := range tc.want {
				tc.want[i].History = status.Failures[i].History
			}
			if diff := cmp.Diff(results.Explanation{Failures: tc.want, Flaky: tc.flaky}, e.Explanation()); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}
