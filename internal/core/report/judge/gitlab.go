package judge

import (
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// postedToGitLab reports whether Postflight made a deployment on GitLab for a run of this commit and Environment. GitLab sends no text with
// it, but its id, which the run remembers. Before the id is stored, the event may already be here: the run passed just before.
func postedToGitLab(s *v1alpha1.Suite, e event.Event) bool {
	shown := s.Status.Report
	if shown == nil || shown.HostingService != v1alpha1.GitLab || !commit.SameRepository(shown.Repository, e.Notification.Repository) {
		return false
	}
	id := report.DeploymentOn(*shown).ID
	switch {
	case id != 0 && e.Post.Deployment != 0:
		return id == e.Post.Deployment
	case id != 0: // an old GitLab sends none
		return true
	case !s.Passed() || s.Status.CompletionTime == nil:
		return false
	default:
		since := e.At.Sub(s.Status.CompletionTime.Time)
		return since >= 0 && since <= receiptDelay
	}
}
