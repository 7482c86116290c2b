package job

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// multiKueue manages the Jobs of Kueue that run in another cluster: it creates a copy there, and copies its status back.
const multiKueue = "kueue.x-k8s.io/multikueue"

// RunsElsewhere reports whether the pods of a Job are in another cluster, so that nothing but its status is known of them.
func RunsElsewhere(j *batchv1.Job) bool { return ptr.Deref(j.Spec.ManagedBy, "") == multiKueue }

// ResultsElsewhere returns why a Job in another cluster cannot show what its Trigger requires, as sentences, or "".
func ResultsElsewhere(j *batchv1.Job) string {
	if !RunsElsewhere(j) || !KeepsResults(&j.Spec.Template.Spec) || !results.DecidedByTests(RequirementOf(j)) {
		return ""
	}
	return "The queue of the Trigger runs its Job in another cluster by MultiKueue, and no test results come back from there. " +
		"Set results.require of the Trigger to Nothing, with which the exit code alone decides, or name a queue of this cluster. Then " +
		"notify again."
}
