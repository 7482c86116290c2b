package job

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestResultsElsewhere: a run whose results are required must not run where they cannot come from.
func TestResultsElsewhere(t *testing.T) {
	const there = multiKueue
	for name, tc := range map[string]struct {
		reason    string
		managedBy string
		required  v1alpha1.ResultsRequirement // "-": the Trigger wants no results
		want      bool
	}{
		"no results":           {"The exit code decides.", there, "-", false},
		"tests":                {"They are required.", there, v1alpha1.RequireTests, true},
		"the default":          {"It is the same.", there, "", true},
		"a report":             {"It is required.", there, v1alpha1.RequireReport, true},
		"nothing":              {"The exit code decides.", there, v1alpha1.RequireNothing, false},
		"in this cluster":      {"Its pods report.", "", v1alpha1.RequireTests, false},
		"of another manager":   {"Nothing says that its pods are elsewhere.", "example.com/jobs", v1alpha1.RequireTests, false},
		"of the Job's default": {"It is Kubernetes itself.", batchv1.JobControllerName, v1alpha1.RequireTests, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := Build(newSuite(), newTrigger(), newEnvironment())
			if tc.managedBy != "" {
				j.Spec.ManagedBy = &tc.managedBy
			}
			if tc.required != "-" {
				j = WithResults(j, Results{Directory: "/r", Required: results.Requirement{Policy: tc.required}})
			}
			if got := ResultsElsewhere(j); (got != "") != tc.want {
				t.Errorf("%s Got %q", tc.reason, got)
			}
		})
	}
}
