package suite

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/record"
	"github.com/postflight-dev/postflight/internal/results"
)

// withResults puts how many tests failed before the message of a run that ends.
func withResults(o Observation, end metav1.Condition) metav1.Condition {
	if o.Suite.Finished() || o.Collected == nil || !Ended(end) {
		return end
	}
	if counts := results.Sentence(results.Status(o.Collected.Summary)); counts != "" {
		end.Message = counts + " " + end.Message
	}
	return end
}

// setResults records what the pods of a run have reported, at its end.
func setResults(s *v1alpha1.Suite, o Observation, now time.Time) {
	collected := o.Collected
	if collected == nil && o.KeepsResults && s.Status.StartTime != nil {
		collected = &results.Collected{Missing: []string{"The pods of the run are gone, and with them what they had reported."}}
	}
	if collected == nil {
		return
	}
	summary := collected.Summary
	s.Status.Results = results.Status(summary)
	if summary.Files > 0 && o.Team != nil {
		s.Status.Artifacts = &v1alpha1.Artifacts{Count: summary.Files, Bytes: summary.Bytes, Prefix: record.Of(o.Team.Name, s).ArtifactsPrefix()}
	}
	setCondition(s, collected.Condition(), now)
}
