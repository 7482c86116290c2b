package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

type runData struct {
	view.Run
	Tab            string
	Variables      []view.Variable
	Files          *filesData
	Log            *logData
	CanCancel      bool
	CanRerun       bool
	CanRerunFailed bool   // only the failed tests
	Command        string // of a terminal, for readers without the right to act here
	Archived       bool   // its Suite was deleted
	Revision       string // whose verdict there is; empty: there is none to ask for

	settled bool // it will not change any more

	FilesProblem string // a sentence: why there are no files
	TestsProblem string // sentences: why the failures have no texts, or why there are no results
}

// ResultsPage shows how the tests of a run ended.
func (u *Pages) ResultsPage(r *site.Request) (*site.Page, error) {
	d, run, err := u.run(r, "results")
	if err != nil {
		return nil, err
	}
	if err := u.explainFailures(r, run, d); err != nil {
		return nil, err
	}
	if d.Files, err = u.previews(r, run); err != nil {
		return nil, err
	}
	u.addHistory(r, run, d)
	return d.page(), nil
}

// addHistory adds what is known beyond the run: when it was green last, what was deployed since, and how its failed tests did before. The
// rest of the page does not wait longer for it than historyWait.
func (u *Pages) addHistory(r *site.Request, run *runs.Run, d *runData) {
	if u.Failures == nil || !run.Suite.Finished() {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), historyWait)
	defer cancel()
	known := u.Failures.Read(ctx, r.Team, run)
	d.Document = u.documentOf(known, run)
	if d.Tests != nil {
		d.Tests.AddHistory(known.Tests, run.ID.ID, u.Clock.Now())
	}
}

// documentOf leaves out what to do about a run that another one replaces: the page links to that run.
func (u *Pages) documentOf(f httpapi.Failure, run *runs.Run) view.Document {
	if s := run.Suite; s.Status.SupersededBy != "" || s.Status.RepeatedBy != "" {
		f.Next = nil
	}
	return view.DocumentOf(f, u.Clock.Now())
}

func (u *Pages) explainFailures(r *site.Request, run *runs.Run, d *runData) error {
	if d.Tests == nil {
		d.TestsProblem = run.Shown().ResultsProblem
		return nil
	}
	explanation, err := u.Runs.Explain(r.Context(), run)
	if err != nil {
		u.Log.Error(err, "the results of a run cannot be read", "run", run.ID.ID)
		d.TestsProblem = "What the reports say of the failures cannot be read at the moment. Reload the page in a minute."
	}
	sealed := ""
	if slices.ContainsFunc(explanation.Failures, func(f results.Explained) bool { return len(f.Files) > 0 }) {
		if sealed, err = u.Sealer.Seal(r.Context(), grantPurpose, grant{r.Namespace(), run.ID.ID, r.Identity}); err != nil {
			return err
		}
	}
	d.Tests.Explain(explanation, func(pod string, f results.File) view.AttachedFile {
		shown := u.fileOf(record.Artifact{Pod: pod, Path: f.Path, Bytes: f.Bytes}, sealed)
		return view.AttachedFile{Path: f.Path, Size: shown.Size, Link: shown.Link}
	})
	return nil
}

// VariablesPage lists the variables of a run.
func (u *Pages) VariablesPage(r *site.Request) (*site.Page, error) {
	d, run, err := u.run(r, "variables")
	if err != nil {
		return nil, err
	}
	s, err := u.withVariables(r, run)
	if err != nil {
		return nil, err
	}
	d.Variables = view.VariablesOf(s)
	return d.page(), nil
}

// AttemptsPage lists the attempts of a run.
func (u *Pages) AttemptsPage(r *site.Request) (*site.Page, error) {
	d, _, err := u.run(r, "attempts")
	if err != nil {
		return nil, err
	}
	return d.page(), nil
}

func (u *Pages) run(r *site.Request, tab string) (*runData, *runs.Run, error) {
	run, err := u.find(r)
	if err != nil {
		return nil, nil, err
	}
	s := run.Suite
	job, err := u.job(r.Context(), s)
	if err != nil {
		return nil, nil, err
	}
	others := u.Runs.Newest(r.Namespace())
	subject := view.Subject{Suite: s, Job: job, Runs: others, Typical: view.TypicalTimes(others, u.Clock.Now())(s)}
	d := &runData{
		Run: view.RunOf(subject, u.Clock.Now()), Tab: tab,
		CanCancel: !s.Finished() && !s.Spec.Cancel, CanRerun: s.Finished() && !run.Archived(),
		CanRerunFailed: !run.Archived() && rerun.FailedProblem(s) == "",
		Archived:       run.Archived(), settled: run.Archived() || u.settled(s),
	}
	d.Document = u.documentOf(failure.Of(failure.Observation{Suite: s, Team: r.Team.Name, Archived: run.Archived()}), run)
	if d.Revision, err = u.revision(r, s); err != nil {
		return nil, nil, err
	}
	if !r.Act {
		d.onlyRead(s, r.SignedIn)
	}
	return d, run, nil
}

// onlyRead removes the buttons, and shows people of the team the same command for a terminal.
func (d *runData) onlyRead(s *v1alpha1.Suite, signedIn bool) {
	switch {
	case signedIn && d.CanCancel:
		d.Command = fmt.Sprintf("postflight runs cancel %s -n %s", d.ID, d.Namespace)
	case signedIn && d.CanRerun:
		d.Command = rerun.Command(s)
	}
	d.CanCancel, d.CanRerun, d.CanRerunFailed = false, false, false
}

// historyWait is how long a page waits for the object store, which usually answers within 100 ms. Without an answer, the page has what the
// run itself says, and a reload tries again.
const historyWait = 2 * time.Second

// settleFor is how long a run may change after its end: files, results and checks come within minutes.
const settleFor = 10 * time.Minute

func (u *Pages) settled(s *v1alpha1.Suite) bool {
	end := s.Status.CompletionTime
	return s.Finished() && end != nil && u.Clock.Since(end.Time) > settleFor
}

func (d *runData) page() *site.Page {
	return &site.Page{
		Template: "run", Title: d.State.Label + ": " + d.Title(), Description: d.Why,
		Section: "runs", Icon: d.State.Key, Live: !d.settled, Data: d,
	}
}

type filesData struct {
	Files []file
	Next  string
}

type file struct {
	record.Artifact
	Kind string // image, video, page or file
	Size string
	Link string
	From string // its pod, where another file that is shown beside it has the same path
}
