package view

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/plaintext"
)

// EnvironmentPage is an Environment with what is deployed there, one of its days, and its last runs.
type EnvironmentPage struct {
	Environment
	Lead         Lead
	HasWorkloads bool // it names some
	Day          Day
	Rows         []Row
	More         bool // it has more runs
}

// environmentRows is how many runs the page of an Environment lists.
const environmentRows = 20

// EnvironmentPageOf returns the page of an Environment on a day. The runs are those of the namespace, and archived is what the archive has
// of the day, each newest first.
func EnvironmentPageOf(e *v1alpha1.Environment, runs []*v1alpha1.Suite, archived []httpapi.Deployment, day, now time.Time) EnvironmentPage {
	own := ByEnvironment(runs)[e.Name]
	p := EnvironmentPage{
		Environment: environmentWith(e, own, now), HasWorkloads: len(e.Spec.Workloads) > 0,
		Day: DayOf(e, own, archived, day, now), More: len(own) > environmentRows,
	}
	for _, s := range own[:min(len(own), environmentRows)] {
		p.Rows = append(p.Rows, RowOf(s, 0, now))
	}
	switch {
	case len(p.Deployed) > 0 || p.Problem != "":
		p.Lead = leadOf(p.Problem, p.Deployed, now)
	case p.Latest != nil:
		p.Lead = Lead{NoRun.Key, "Nothing says what is deployed now. " + notified(p.Latest, now)}
	default:
		p.Lead = Lead{NoRun.Key, "Nothing is known to be deployed."}
	}
	return p
}

func notified(last *Run, now time.Time) string {
	commit := "a commit without a name"
	if last.Commit != nil {
		commit = last.Commit.Text
	}
	return fmt.Sprintf("The last run that a notification started tests %s, of %s.", commit, plaintext.Ago(last.Received.At, now))
}
