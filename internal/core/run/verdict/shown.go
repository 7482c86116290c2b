package verdict

import (
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Shown returns the verdict as the HTTP API has it.
func (v Verdict) Shown(team, publicURL string) httpapi.Verdict {
	shown := httpapi.Verdict{
		State: string(v.State), Passed: v.State == Passed, Sentence: v.Sentence(), Advice: v.Advice(),
		Team: team, Environment: v.Environment.Name, Repository: v.Commit.Repository, Service: v.Commit.Service, SHA: v.Commit.Revision,
		URL:       suite.VerdictURL(publicURL, v.Environment.Namespace, v.Environment.Name, v.Commit.Revision),
		CheckedAt: v.Now.UTC(), Since: shownTime(v.Since), ExpiresAt: shownTime(v.Expires), OpensAt: shownTime(v.Opens),
		DeployedAt: shownTime(v.Deployed),
		Rule:       v.Required(),
	}
	if v.Newest != nil {
		shown.Branch = v.Newest.Spec.Deployment.Branch
	}
	if v.Replaced != nil {
		shown.ReplacedBy, shown.ReplacedAt = v.Replaced.Revision, shownTime(v.Replaced.At)
	}
	for _, r := range v.Requirements {
		shown.Requirements = append(shown.Requirements, r.shown(team, publicURL))
	}
	return shown
}

// Required is what is required, as the HTTP API has it.
func (v Verdict) Required() httpapi.GateRule {
	rule := v.rule()
	return httpapi.GateRule{Triggers: rule.Triggers, MaxAge: shownDuration(v.maxAge()), MinAge: shownDuration(duration(rule.MinAge))}
}

func (r Requirement) shown(team, publicURL string) httpapi.Required {
	shown := httpapi.Required{
		Trigger: r.Trigger, Service: r.Service, State: string(r.State), Message: r.Message(), NewFailures: r.NewFailures(),
	}
	if s := r.Run; s != nil {
		run := record.RunOf(team, s)
		shown.Run, shown.URL, shown.EndedAt = s.Name, suite.PageURL(publicURL, s.Namespace, s.Name), run.EndedAt
		shown.Tests, shown.DecidedBy = run.Results, run.DecidedBy
	}
	return shown
}

func shownTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

func shownDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return plaintext.Duration(d)
}
