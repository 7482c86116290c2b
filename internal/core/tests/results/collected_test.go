package results_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

func TestCollectedCondition(t *testing.T) {
	uploaded := results.Summary{Counts: results.Counts{Reports: 1, Tests: 3, Passed: 3}, Files: 12, Bytes: 3 << 20}
	lossy := uploaded
	lossy.Problem = "2 files were left out: the run has too many."
	for name, tc := range map[string]struct {
		reason string
		is     results.Collected
		want   metav1.Condition
	}{
		"All":       {"files and reports", results.Collected{Summary: uploaded}, v1alpha1.ResultsCollected("12 files were uploaded, with 3.0 MiB, and 1 JUnit report was read.")},
		"NoReport":  {"no test framework wrote JUnit", results.Collected{Summary: results.Summary{Files: 1, Bytes: 9}}, v1alpha1.ResultsCollected("1 file was uploaded, with 9 bytes. None of them is a JUnit report.")},
		"Nothing":   {"that is no mistake of Postflight's, but often one", results.Collected{}, v1alpha1.ResultsCollected("The tests left no files in the results directory.")},
		"NoUpload":  {"the reports were read, and the store was away", results.Collected{Summary: results.Summary{Counts: results.Counts{Reports: 1}, Problem: "The store is away."}}, v1alpha1.ResultsIncomplete("The store is away. No upload was reported.")},
		"SomeLost":  {"what was lost comes first", results.Collected{Summary: lossy}, v1alpha1.ResultsIncomplete("2 files were left out: the run has too many. 12 files were uploaded, with 3.0 MiB, and 1 JUnit report was read.")},
		"Silent":    {"a few pods are named", results.Collected{Missing: []string{"A.", "B.", "C.", "D.", "E."}}, v1alpha1.ResultsIncomplete("A. B. C. So it is with 2 more. No upload was reported.")},
		"StoreLess": {"nothing else matters then", results.Collected{NoStore: true}, v1alpha1.ResultsNotKept("The results of the tests were not kept, because no store for files is configured. Ask the operator of Postflight to set --store-bucket and --store-endpoint.")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.is.Condition()); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}
