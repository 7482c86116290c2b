package environment

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// Page is an Environment with what is deployed there, one of its days, and its last runs.
type Page struct {
	Summary
	Lead         view.Lead
	HasWorkloads bool // it names some
	Day          Day
	Rows         []view.Row
	More         bool // it has more runs
}

// pageRows is how many runs the page of an Environment lists.
const pageRows = 20

// PageOf returns the page of an Environment on a day. The runs are all runs of the namespace, and archived is what the archive has
// of the day, each newest first.
func PageOf(e *v1alpha1.Environment, runs []*v1alpha1.Suite, archived []httpapi.Deployment, day, now time.Time) Page {
	own := view.ByEnvironment(runs)[e.Name]
	p := Page{
		Summary: summaryOf(e, own, now), HasWorkloads: len(e.Spec.Workloads) > 0,
		Day: DayOf(e, own, archived, day, now), More: len(own) > pageRows,
	}
	for _, s := range own[:min(len(own), pageRows)] {
		p.Rows = append(p.Rows, view.RowOf(s, 0, now))
	}
	switch {
	case len(p.Deployed) > 0 || p.Problem != "":
		p.Lead = leadOf(p.Problem, p.Deployed, now)
	case p.Latest != nil:
		p.Lead = view.Lead{Key: view.NoRun.Key, Text: "Nothing says what is deployed now. " + notified(p.Latest, now)}
	default:
		p.Lead = view.Lead{Key: view.NoRun.Key, Text: "Nothing is known to be deployed."}
	}
	return p
}

func notified(last *view.Run, now time.Time) string {
	commit := "a commit without a name"
	if last.Commit != nil {
		commit = last.Commit.Text
	}
	return fmt.Sprintf("The last run that a notification started tests %s, of %s.", commit, plaintext.Ago(last.Received.At, now))
}
