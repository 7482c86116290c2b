package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// Observed is what is known when a time of a schedule has come.
type Observed struct {
	Trigger     *v1alpha1.Trigger
	Environment *v1alpha1.Environment // of the Trigger; nil: there is none
	Team        *v1alpha1.Team        // of the namespace; nil: there is none
	Suites      []*v1alpha1.Suite     // of the Environment
}

// candidate is a repository, or a service of one, that the Trigger matches.
type candidate struct {
	deployed     v1alpha1.Deployed
	notification *notification.Notification
	run          *v1alpha1.Suite
}

// Run is what to test, as CI would notify it.
type Run struct {
	Notification *notification.Notification
	DeployedAt   time.Time
}

// Runs returns what to test, or why there is nothing, as sentences. If runs of several repositories would supersede each other, only the
// repository that was deployed last is tested: its deployment superseded the others. What another deployment may have replaced is
// left out.
func Runs(o Observed) (all []Run, why string) {
	switch {
	case o.Team == nil:
		return nil, "No Team claims this namespace, or several do."
	case o.Team.Spec.Suspended:
		return nil, "The team is suspended."
	case o.Environment == nil:
		return nil, fmt.Sprintf("There is no Environment %q in this namespace.", o.Trigger.Spec.Environment)
	}
	l := ledger.Of(o.Environment, o.Suites)
	current := workloads.Current(o.Environment, l)
	if len(current) == 0 {
		return nil, fmt.Sprintf("Nothing is deployed in %s, as far as is known: status.deployed of the Environment is empty. "+
			"It is filled by notifications, or by workloads that the Environment names.", o.Environment.Name)
	}
	candidates := o.candidates(current)
	if len(candidates) == 0 {
		return nil, fmt.Sprintf("The Trigger matches nothing of what is deployed in %s. "+
			"Repository, service, branch, deployment type and commit of status.deployed "+
			"of the Environment are matched; a deployment URL and variables are absent.", o.Environment.Name)
	}
	var reasons []string
	for _, c := range candidates {
		newer, other := o.newer(c.deployed), l.Other(c.run, l.At(c.deployed))
		switch {
		case newer != nil:
			reasons = append(reasons, fmt.Sprintf("The run %s of a newer deployment has not ended.", newer.Name))
		case other == nil:
			all = append(all, Run{c.notification, l.At(c.deployed)})
		case c.deployed.Service != "" || !includes(candidates, other.Part): // else what replaced it is tested
			reasons = append(reasons, fmt.Sprintf("%s is not tested until it is notified again: %s was deployed later, and may have replaced it.",
				suite.CommitName(commit.Of(c.run.Spec.Deployment)), suite.CommitName(other.Commit)))
		}
	}
	return all, strings.Join(reasons, " ")
}

// candidates has one for each stream, in the order of the status.
func (o Observed) candidates(current []v1alpha1.Deployed) (all []candidate) {
	matching := *o.Trigger
	matching.Spec.Schedule = nil // with schedule.only, it would match nothing
	matcher, err := match.Compile(&matching)
	if err != nil {
		return nil
	}
	for _, d := range current {
		n := o.notificationOf(d)
		if d.SHA == "" || !matcher.Matches(n) {
			continue
		}
		run := suite.New(suite.Request{Trigger: o.Trigger, Environment: o.Environment.Name, Notification: n})
		c, stream := candidate{deployed: d, notification: n, run: run}, suite.StreamKey(run)
		i := slices.IndexFunc(all, func(other candidate) bool { return stream != "" && suite.StreamKey(other.run) == stream })
		switch {
		case i < 0:
			all = append(all, c)
		case since(c.deployed).After(since(all[i].deployed)):
			all[i] = c
		}
	}
	return all
}

func includes(all []candidate, p commit.Part) bool {
	return slices.ContainsFunc(all, func(c candidate) bool { return partOf(c.deployed).SamePart(p) })
}

func since(d v1alpha1.Deployed) time.Time {
	if d.Since == nil {
		return time.Time{}
	}
	return d.Since.Time
}

// notificationOf takes over what the last run of the commit shows about it. The run's URL and variables may be outdated.
func (o Observed) notificationOf(d v1alpha1.Deployed) *notification.Notification {
	n := workloads.Notification(o.Environment, d)
	n.DeploymentURL = d.URL
	if last := o.lastOf(d); last != nil {
		earlier := last.Spec.Deployment
		n.CommitURL, n.CommitMessage, n.CommitAuthor = earlier.CommitURL, earlier.CommitMessage, earlier.CommitAuthor
		n.PullRequestNumber, n.PipelineID = earlier.PullRequestNumber, earlier.PipelineID
		if earlier.HostingService != "" {
			n.HostingService = earlier.HostingService
		}
	}
	return n
}

func (o Observed) lastOf(d v1alpha1.Deployed) (last *v1alpha1.Suite) {
	for _, s := range o.Suites {
		if commit.SameSHA(s.Spec.Deployment.SHA, d.SHA) && o.isOf(s, d) && (last == nil || ledger.Compare(s, last) > 0) {
			last = s
		}
	}
	return last
}

func (o Observed) isOf(s *v1alpha1.Suite, d v1alpha1.Deployed) bool {
	own := ledger.PartOf(o.Environment, s.Spec.Deployment.Repository, s.Spec.Deployment.Service)
	return own.SamePart(partOf(d))
}

func partOf(d v1alpha1.Deployed) commit.Part { return commit.PartOf(d.Repository, d.Service) }

// newer returns an unfinished run of a commit of the repository that was notified after the deployed commit, and so is about to replace it.
// The schedule must not test the outgoing commit beside it.
func (o Observed) newer(d v1alpha1.Deployed) *v1alpha1.Suite {
	i := slices.IndexFunc(o.Suites, func(s *v1alpha1.Suite) bool {
		return !s.Finished() && s.Spec.Trigger.Name == o.Trigger.Name && o.isOf(s, d) && !commit.SameSHA(s.Spec.Deployment.SHA, d.SHA) &&
			ledger.IsDeployment(s) && ledger.Last(s).After(since(d))
	})
	if i < 0 {
		return nil
	}
	return o.Suites[i]
}
