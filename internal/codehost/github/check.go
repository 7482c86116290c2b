package github

import (
	"cmp"
	"context"
	"time"

	gh "github.com/google/go-github/v88/github"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
)

var statuses = map[v1alpha1.ReportPhase]string{
	v1alpha1.ReportQueued:     "queued",
	v1alpha1.ReportInProgress: "in_progress",
	v1alpha1.ReportCompleted:  "completed",
}

// checkRun first looks for a check run of a lost answer or another leader: a second one would stay in progress for ever. It posts an end
// once, because GitHub would repeat annotations.
func (p poster) checkRun(ctx context.Context) (v1alpha1.SuiteReport, error) {
	id := p.Last.CheckID
	if id == 0 || p.Unsure {
		found, err := p.findCheckRun(ctx)
		if err != nil {
			return v1alpha1.SuiteReport{}, err
		}
		if phase := phaseOf(found); found != nil && !p.Missing(phase) {
			return p.Shown(phase, found.GetID()), nil
		}
		id = cmp.Or(id, found.GetID())
	}
	if id == 0 {
		created, _, err := p.client.Checks.CreateCheckRun(ctx, p.owner, p.name, p.newCheckRun())
		return p.Shown(p.Check.Phase, created.GetID()), err
	}
	_, _, err := p.client.Checks.UpdateCheckRun(ctx, p.owner, p.name, id, p.changedCheckRun())
	return p.Shown(p.Check.Phase, id), err
}

func (p poster) findCheckRun(ctx context.Context) (*gh.CheckRun, error) {
	options := &gh.ListCheckRunsOptions{
		CheckName: &p.Check.Name, AppID: &p.Credentials.AppID, Filter: new("all"), ListOptions: gh.ListOptions{PerPage: 100},
	}
	list, _, err := p.client.Checks.ListCheckRunsForRef(ctx, p.owner, p.name, p.SHA, options)
	if err != nil {
		return nil, err
	}
	for _, run := range list.CheckRuns {
		known := p.Last.CheckID == 0 || p.Last.CheckID == run.GetID()
		if known && run.GetExternalID() == p.Check.ExternalID {
			return run, nil
		}
	}
	return nil, nil
}

func phaseOf(run *gh.CheckRun) v1alpha1.ReportPhase {
	for phase, status := range statuses {
		if run.GetStatus() == status {
			return phase
		}
	}
	return ""
}

func (p poster) newCheckRun() gh.CreateCheckRunOptions {
	c := p.Check
	return gh.CreateCheckRunOptions{
		Name: c.Name, HeadSHA: p.SHA, ExternalID: &c.ExternalID, DetailsURL: optional(c.DetailsURL),
		Status: new(statuses[c.Phase]), Conclusion: p.conclusion(), StartedAt: timestamp(c.StartedAt), CompletedAt: p.completedAt(),
		Output: p.output(),
	}
}

func (p poster) changedCheckRun() gh.UpdateCheckRunOptions {
	c := p.Check
	return gh.UpdateCheckRunOptions{
		Name: c.Name, DetailsURL: optional(c.DetailsURL),
		Status: new(statuses[c.Phase]), Conclusion: p.conclusion(), CompletedAt: p.completedAt(), Output: p.output(),
	}
}

// conclusion is neutral only for a pass with quarantined failures, so that it does not look like a plain one.
func (p poster) conclusion() *string {
	if p.Check.Phase != v1alpha1.ReportCompleted {
		return nil
	}
	if p.Check.Quarantined {
		return new("neutral")
	}
	return new(codehost.Of(v1alpha1.GitHub).CheckRuns.Of(p.Check.State))
}

func (p poster) completedAt() *gh.Timestamp { return timestamp(p.Check.CompletedAt) }

func (p poster) output() *gh.CheckRunOutput {
	out := &gh.CheckRunOutput{Title: &p.Check.Title, Summary: &p.Check.Summary}
	for _, a := range p.Check.Annotations {
		level := "failure"
		if a.Quarantined {
			level = "warning"
		}
		out.Annotations = append(out.Annotations, &gh.CheckRunAnnotation{
			Path: &a.Path, StartLine: &a.Line, EndLine: &a.Line, AnnotationLevel: &level, Title: &a.Title, Message: &a.Message,
		})
	}
	return out
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func timestamp(t time.Time) *gh.Timestamp {
	if t.IsZero() {
		return nil
	}
	return &gh.Timestamp{Time: t}
}

// status may repeat a commit status: the newest one of a name counts.
func (p poster) status(ctx context.Context) (v1alpha1.SuiteReport, error) {
	desired := p.newStatus()
	if p.Unsure && p.Check.DetailsURL != "" {
		shown, err := p.latestStatus(ctx)
		if err != nil {
			return v1alpha1.SuiteReport{}, err
		}
		if shown.GetState() == *desired.State && shown.GetDescription() == *desired.Description {
			return p.Shown(p.Check.Phase, 0), nil
		}
	}
	_, _, err := p.client.Repositories.CreateStatus(ctx, p.owner, p.name, p.SHA, desired)
	return p.Shown(p.Check.Phase, 0), err
}

func (p poster) newStatus() gh.RepoStatus {
	shown := "pending"
	if p.Check.Phase == v1alpha1.ReportCompleted {
		shown = codehost.Of(v1alpha1.GitHub).Statuses.Of(p.Check.State)
	}
	return gh.RepoStatus{State: &shown, Context: &p.Check.Name, Description: &p.Check.Title, TargetURL: optional(p.Check.DetailsURL)}
}

// latestStatus returns the newest status of the check's name if this run posted it, else nil.
func (p poster) latestStatus(ctx context.Context) (*gh.RepoStatus, error) {
	list, _, err := p.client.Repositories.ListStatuses(ctx, p.owner, p.name, p.SHA, &gh.ListOptions{PerPage: 100})
	if err != nil {
		return nil, err
	}
	for _, s := range list { // newest first
		if s.GetContext() == p.Check.Name {
			if s.GetTargetURL() == p.Check.DetailsURL {
				return s, nil
			}
			return nil, nil
		}
	}
	return nil, nil
}
