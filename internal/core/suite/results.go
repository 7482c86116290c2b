package suite

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/plaintext"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/results"
)

func withResults(o Observation, end metav1.Condition) metav1.Condition {
	if o.Suite.Finished() || o.Collected == nil || !Ended(end) || o.Judged && end == o.Progress {
		return end
	}
	if counts := results.Sentence(results.Status(o.Collected.Summary)); counts != "" {
		end.Message = counts + " " + end.Message
	}
	if end.Reason == v1alpha1.ReasonPassed {
		if !repeatsFailed(o) { // the run of all tests was compared before
			end.Message += fewerTests(o.Collected.Summary.Counts, o.PassedBefore)
		}
		end.Message += unkept(o.Collected.Summary, o.Suite.Name)
	}
	return end
}

// fewerTests warns if a fifth of the tests that ran in the last passed run are gone, such as by a wrong filter.
func fewerTests(c results.Counts, before *v1alpha1.Suite) string {
	if before == nil {
		return ""
	}
	now, then := c.Tests-c.Skipped, before.Status.Results.Tests-before.Status.Results.Skipped
	if int64(now)*5 > int64(then)*4 {
		return ""
	}
	return fmt.Sprintf(" Only %s ran; in %s, the run that passed before, %d did. If that is wrong, check which tests are selected.",
		plaintext.Count(now, "test"), before.Name, then)
}

// unkept describes files that could not be uploaded, which do not change how a run ends.
func unkept(s results.Summary, run string) string {
	if s.Unkept == 0 {
		return ""
	}
	return fmt.Sprintf(" Not uploaded, and lost: %s (%s) To have them, repeat the run: postflight runs rerun %s",
		plaintext.Count(s.Unkept, "file"), s.Problem, run)
}

// LastPassed returns the other run of a Trigger that passed last and whose tests were counted, or nil. One that repeated only failed tests has not
// run all.
func LastPassed(s *v1alpha1.Suite, runs []*v1alpha1.Suite) (last *v1alpha1.Suite) {
	for _, other := range runs {
		counted := other.Passed() && other.Spec.OnlyFailedOf == nil && other.Status.Results != nil && other.Status.CompletionTime != nil
		if counted && other.Name != s.Name && (last == nil || other.Status.CompletionTime.After(last.Status.CompletionTime.Time)) {
			last = other
		}
	}
	return last
}

func setResults(s *v1alpha1.Suite, o Observation, now time.Time) {
	if end := s.Succeeded(); (end.Reason == o.Progress.Reason || repeatsFailed(o)) && (end.Reason == v1alpha1.ReasonPassed || end.Reason == v1alpha1.ReasonFailed) {
		s.Status.DecidedBy = o.DecidedBy
	}
	collected := o.Collected
	if collected == nil && o.KeepsResults && s.Status.StartTime != nil {
		collected = &results.Collected{Missing: []string{"The pods of the run are gone, and with them what they had reported."}}
	}
	if collected == nil {
		return
	}
	summary := collected.Summary
	if s.Status.Results = results.Status(summary); s.Status.Results != nil {
		s.Status.Results.OnlyTestsFailed = collected.OnlyTests && s.State() == v1alpha1.ReasonFailed
	}
	if summary.Files > 0 && o.Team != nil {
		s.Status.Artifacts = &v1alpha1.Artifacts{Count: summary.Files, Bytes: summary.Bytes, Prefix: record.Of(o.Team.Name, s).ArtifactsPrefix()}
	}
	setCondition(s, collected.Condition(), now)
}
