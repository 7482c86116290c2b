package lifecycle

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// counted begins the message of an end with how many tests failed, unless the message is about that.
func counted(o Observation, end Decision, _ time.Time) *Decision {
	c := end.Condition
	if o.Collected == nil || o.Judged && c == o.Condition {
		return nil
	}
	if counts := results.Sentence(results.Status(o.Collected.Summary)); counts != "" {
		c.Message = counts + " " + c.Message
	}
	if c.Reason == v1alpha1.ReasonPassed {
		if n := expected(o); n > 0 {
			c.Message += " " + farFewer(o, n)
		}
		c.Message += unkept(o.Collected.Summary, o.Suite)
	}
	end.Condition = c
	return &end
}

// unkept describes files that could not be uploaded, which do not change how a run ends.
func unkept(s results.Summary, run *v1alpha1.Suite) string {
	if s.Unkept == 0 {
		return ""
	}
	return fmt.Sprintf(" Not uploaded, and lost: %s (%s) To have them, repeat the run: %s",
		plaintext.Count(s.Unkept, "file"), s.Problem, rerun.Command(run))
}

func setResults(s *v1alpha1.Suite, o Observation, now time.Time) {
	end, before := s.Succeeded().Reason, o.Condition.Reason // an amendment may let a run fail that passed by itself
	if (end == before || before == v1alpha1.ReasonPassed) && (end == v1alpha1.ReasonPassed || end == v1alpha1.ReasonFailed) {
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
		if o.Killed == "" || s.State() == v1alpha1.ReasonPassed { // else that is why it failed
			s.Status.Results.Expected = expected(o)
		}
		s.Status.Results.OnlyTestsFailed = collected.OnlyTests && s.State() == v1alpha1.ReasonFailed
	}
	if summary.Files > 0 && o.Team != nil {
		s.Status.Artifacts = &v1alpha1.Artifacts{Count: summary.Files, Bytes: summary.Bytes, Prefix: record.Of(o.Team.Name, s).ArtifactsPrefix()}
	}
	setCondition(s, collected.Condition(), now)
}
