package github

import (
	"context"

	gh "github.com/google/go-github/v88/github"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const pending = "pending"

// states of a commit status. There is none for a run that was stopped, and success would let a required one pass.
var states = map[string]string{
	v1alpha1.ReasonPassed:     "success",
	v1alpha1.ReasonFailed:     "failure",
	v1alpha1.ReasonTimedOut:   "failure",
	v1alpha1.ReasonCanceled:   "error",
	v1alpha1.ReasonSuperseded: "error",
	v1alpha1.ReasonError:      "error",

	v1alpha1.ReasonInconclusive: "error",
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
	state, known := states[p.Check.State]
	switch {
	case p.Check.Phase != v1alpha1.ReportCompleted:
		state = pending
	case !known:
		state = "error" // of a state that this version does not know: never green
	}
	return gh.RepoStatus{State: &state, Context: &p.Check.Name, Description: &p.Check.Title, TargetURL: optional(p.Check.DetailsURL)}
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
