package environment

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/state"
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

// Verdict returns the verdict of a commit in the Environment.
type Verdict func(commit.Commit) (verdict.Verdict, error)

// PageOf returns the page of an Environment on a day. The runs are all runs of the namespace, and archived is what the archive has
// of the day, each newest first.
func PageOf(
	e *v1alpha1.Environment, runs []*v1alpha1.Suite, archived []httpapi.Deployment, ask Verdict, day, now time.Time,
) (Page, error) {
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
		if p.Lead.Key == state.Green().Key {
			return p, p.confirm(e, own, ask, now)
		}
	case p.Latest != nil:
		p.Lead = view.Lead{Key: view.NoRun.Key, Text: "Nothing says what is deployed now. " + notified(p.Latest, now)}
	default:
		p.Lead = view.Lead{Key: view.NoRun.Key, Text: "Nothing is known to be deployed."}
	}
	return p, nil
}

// confirm lets the page be green only if gates are: a result may be stale, or a run missing.
func (p *Page) confirm(e *v1alpha1.Environment, own []*v1alpha1.Suite, ask Verdict, now time.Time) error {
	for i := range e.Status.Deployed {
		d := &e.Status.Deployed[i]
		v, err := ask(commit.New(d.Repository, d.Service, revisionOf(d, testsOf(e, d, own))))
		if err != nil {
			return err
		}
		if v.State != verdict.Passed {
			p.Lead = view.Lead{Key: VerdictLookOf(v.State).Key, Text: deployedSentence(p.Deployed, now) + " " + v.Sentence()}
			return nil
		}
	}
	return nil
}

func notified(last *view.Run, now time.Time) string {
	name := "a commit without a name"
	if last.Commit != nil {
		name = last.Commit.Text
	}
	return fmt.Sprintf("The last run that a notification started tests %s, of %s.", name, plaintext.Ago(last.Received.At, now))
}
