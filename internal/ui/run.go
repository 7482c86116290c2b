package ui

import (
	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/ui/view"
)

// runData is a run, and the tab that is shown.
type runData struct {
	view.Run
	Tab       string
	Variables []view.Variable
	Files     *filesData
	Log       *logData
	CanCancel bool
	CanRerun  bool
	HasLogs   bool
	HasFiles  bool
}

func (u *UI) runPage(r *request) (*page, error) {
	d, s, err := u.run(r, "results")
	if err != nil {
		return nil, err
	}
	if d.Files, err = u.previews(r, s); err != nil {
		return nil, err
	}
	return d.page(), nil
}

func (u *UI) variablesPage(r *request) (*page, error) {
	d, s, err := u.run(r, "variables")
	if err == nil {
		s, err = u.withVariables(r, s)
	}
	if err != nil {
		return nil, err
	}
	d.Variables = view.VariablesOf(s)
	return d.page(), nil
}

func (u *UI) attemptsPage(r *request) (*page, error) {
	d, _, err := u.run(r, "attempts")
	if err != nil {
		return nil, err
	}
	return d.page(), nil
}

// run is what all tabs of a run show.
func (u *UI) run(r *request, tab string) (*runData, *v1alpha1.Suite, error) {
	s, err := u.suite(r)
	if err != nil {
		return nil, nil, err
	}
	job, err := u.job(r.Context(), s)
	if err != nil {
		return nil, nil, err
	}
	runs := u.runs.of(r.namespace())
	subject := view.Subject{Suite: s, Job: job, Runs: runs, Typical: u.typicalTimes(runs)(s)}
	d := &runData{
		Run: view.RunOf(subject, u.Clock.Now()), Tab: tab,
		CanCancel: r.act && !s.Finished() && !s.Spec.Cancel, CanRerun: r.act && s.Finished(),
		HasLogs: u.Logs != nil, HasFiles: u.Artifacts != nil && s.Status.Artifacts != nil,
	}
	return d, s, nil
}

func (d *runData) page() *page {
	return &page{
		template: "run", Title: d.State.Label + ": " + d.Title(), Description: d.Why,
		Section: "runs", Icon: d.State.Key, Live: true, Data: d,
	}
}

// filesData are the files of a run.
type filesData struct {
	Files []file
	Next  string
}

// file is an artifact, with the kind of view that shows it.
type file struct {
	httpapi.Artifact
	Kind string // image, video, page or file
	Size string
	Link string
}
