// Package judge decides whether an event that is authentic may start something, given the runs that its team has.
package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	// MaxAge is how old a deployment may be. A delivery that failed is sent again within minutes; a person who sends an older one again by
	// hand can notify instead, which says that they mean it.
	MaxAge = time.Hour

	// receiptDelay is how much later than the deployment a pipeline's notification of it may be received. Only a run that was notified later
	// than that after another deployment is surely newer.
	receiptDelay = time.Minute

	maxShown = 64 // of a value that a sentence quotes, in bytes
)

// Problem returns why a deployment starts nothing, as a sentence, or "". The runs are the team's runs of the same commit,
// and of deployments of the repository to the same type; others do not matter.
func Problem(e event.Event, runs []*v1alpha1.Suite, o report.Options, now time.Time) string {
	if age := now.Sub(e.At); !e.At.IsZero() && age > MaxAge {
		return fmt.Sprintf("The deployment is more than an hour old (%s), so it may not be what is deployed now. "+
			"If it is, notify: postflight notify.", e.At.UTC().Format(time.RFC3339))
	}
	if s := posted(e, runs, o); s != nil {
		return fmt.Sprintf("Postflight has posted this state itself, for the run %s.", s.Name)
	}
	n := e.Notification
	deployed := v1alpha1.Deployment{Repository: n.Repository, SHA: n.SHA, Type: n.DeploymentType, URL: n.DeploymentURL,
		HostingService: n.HostingService, Service: n.Service}
	if s := ledger.AnnouncedAfter(deployed, e.At, receiptDelay, runs); s != nil && !e.At.IsZero() {
		return fmt.Sprintf("%s was deployed later than %s, and its run is %s.",
			shown(s.Spec.Deployment.SHA), shown(e.Notification.SHA), s.Name)
	}
	return ""
}

func shown(sha string) string { return plaintext.Line(sha[:min(len(sha), 12)], maxShown) }

// posted returns the run for which Postflight posted the state of the deployment, or nil. A link and a text prove nothing, because others
// can write the same. They count only beside a run of the same commit and Environment that has passed or continues: such a deployment needs
// no other run, so a forger gains nothing.
func posted(e event.Event, runs []*v1alpha1.Suite, o report.Options) *v1alpha1.Suite {
	if e.Post == nil {
		return nil
	}
	return find(runs, func(s *v1alpha1.Suite) bool {
		n := e.Notification
		same := commit.Of(s.Spec.Deployment).SameRevision(commit.New(n.Repository, n.Service, n.SHA)) &&
			s.Spec.Environment == e.Post.Environment
		if !same || s.Finished() && !verdict.RunPassed(s) {
			return false
		}
		if e.Notification.HostingService == v1alpha1.GitLab {
			return postedToGitLab(s, e)
		}
		page := o.Page(s)
		return page != "" && page == e.Post.LogURL || verdict.RunPassed(s) && e.Post.Description == report.DeploymentDescription(s)
	})
}

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
	case !verdict.RunPassed(s) || s.Status.CompletionTime == nil:
		return false
	default:
		since := e.At.Sub(s.Status.CompletionTime.Time)
		return since >= 0 && since <= receiptDelay
	}
}

// Reruns returns the runs that the event asks to run again. Each is a function of the event, so that it starts the same attempts
// however often it is delivered.
func Reruns(e event.Event, runs []*v1alpha1.Suite) (reruns []*v1alpha1.Suite) {
	newest := map[[3]string]*v1alpha1.Suite{}
	for _, s := range runs {
		if !reportedOn(s, e.Rerun) {
			continue
		}
		if len(e.Rerun.Runs) > 0 {
			if slices.Contains(e.Rerun.Runs, string(s.UID)) {
				reruns = append(reruns, s)
			}
			continue
		}
		key := [3]string{s.Spec.Trigger.Name, s.Spec.Environment, s.Spec.Deployment.Service}
		if known := newest[key]; !s.CreationTimestamp.After(e.At) && (known == nil || known.Spec.Attempt < s.Spec.Attempt) {
			newest[key] = s
		}
	}
	for _, s := range newest {
		reruns = append(reruns, s)
	}
	slices.SortFunc(reruns, func(a, b *v1alpha1.Suite) int { return cmp.Compare(a.Name, b.Name) })
	return reruns
}

// reportedOn reports whether the code host shows the check of a run on the commit.
func reportedOn(s *v1alpha1.Suite, r *event.Rerun) bool {
	shown := s.Status.Report
	return shown != nil && shown.CheckID != 0 && shown.HostingService == v1alpha1.GitHub &&
		commit.SameRepository(shown.Repository, r.Repository) &&
		s.Spec.Deployment.SHA == commit.NormalSHA(r.Commit)
}

func find(runs []*v1alpha1.Suite, wanted func(*v1alpha1.Suite) bool) *v1alpha1.Suite {
	if i := slices.IndexFunc(runs, wanted); i >= 0 {
		return runs[i]
	}
	return nil
}
