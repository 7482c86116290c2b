package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// maxRuns is how many runs a command changes: a notification has at most 50 siblings.
const maxRuns = 50

// Observation is what is known when a command that counts is to be decided.
type Observation struct {
	Command     Command
	Said        Said
	CommentID   int64
	Target      report.Target // of the team's Trigger: code host and repository
	PullRequest report.PullRequest
	Runs        []report.Run // of the team, of the head commit at least
}

// Plan is what to do about a command.
type Plan struct {
	Rerun, Cancel []*v1alpha1.Suite // ordered by name
	OnlyFailed    bool
	Says          []string // clauses for the answer, about what is not done or is only told
	Refused       bool     // nothing is done, and Says has why
}

// Decide returns what to do. Only runs from before the comment count, so each delivery of a comment means the same runs.
func Decide(o Observation) Plan {
	number := fmt.Sprint(codehost.Of(o.Target.Host).Sign, o.PullRequest.Number)
	sha := fmt.Sprintf("%.12s", commit.NormalSHA(o.PullRequest.SHA))
	runs := o.ofHead()
	plan := Plan{}
	seen := slices.DeleteFunc(slices.Clone(runs), func(s *v1alpha1.Suite) bool { return !o.before(s) })
	if o.Command.Trigger != "" {
		seen = slices.DeleteFunc(seen, func(s *v1alpha1.Suite) bool { return s.Spec.Trigger.Name != o.Command.Trigger })
	}
	refuse := func(format string, args ...any) Plan {
		plan.Refused, plan.Says = true, []string{fmt.Sprintf(format, args...)}
		return plan
	}
	switch {
	case o.Command.Verb == Unknown:
		return refuse("this is no command; write rerun [--failed] [TRIGGER], cancel or status")
	case !o.PullRequest.Open && o.Command.Verb != Status:
		return refuse("%s is not open", number)
	case len(runs) == 0:
		return refuse("no run tested %s, the head of %s", sha, number)
	case len(seen) == 0 && o.Command.Trigger != "":
		return refuse("no run of the Trigger %s had tested %s, the head of %s, when you commented", o.Command.Trigger, sha, number)
	case len(seen) == 0:
		return refuse("the head of %s is %s, whose runs started after your comment; look at them, and comment again", number, sha)
	}
	switch o.Command.Verb {
	case Rerun:
		plan.OnlyFailed = o.Command.Failed
		o.rerun(&plan, newestAttempts(seen))
	case Cancel:
		o.cancel(&plan, seen)
	default:
		for _, s := range newestAttempts(runs) {
			plan.Says = append(plan.Says, Name(s)+" "+stateOf(s))
		}
	}
	plan.Refused = o.Command.Verb != Status && len(plan.Rerun)+len(plan.Cancel) == 0
	return plan
}

func (o Observation) rerun(plan *Plan, newest []*v1alpha1.Suite) {
	for _, s := range newest {
		ended := s.Status.CompletionTime
		switch {
		case !s.Finished() || ended == nil || ended.After(o.Said.CreatedAt):
			plan.Says = append(plan.Says, Name(s)+" had not ended when you commented")
		case o.Command.Failed && verdict.RunPassed(s):
			plan.Says = append(plan.Says, Name(s)+" has passed")
		case len(plan.Rerun) < maxRuns:
			plan.Rerun = append(plan.Rerun, s)
		}
	}
}

// cancel also has what was canceled since the comment, perhaps by another delivery of it.
func (o Observation) cancel(plan *Plan, seen []*v1alpha1.Suite) {
	for _, s := range seen {
		ended := s.Status.CompletionTime
		since := s.State() == v1alpha1.ReasonCanceled && ended != nil && !ended.Time.Before(o.Said.CreatedAt.Truncate(time.Second))
		if (!s.Finished() || since) && len(plan.Cancel) < maxRuns {
			plan.Cancel = append(plan.Cancel, s)
		}
	}
	if len(plan.Cancel) == 0 {
		plan.Says = []string{"all runs had ended"}
	}
}

// before reports whether people could see the run when they commented, in seconds: code hosts and the API server have no finer times. What
// the comment itself has started was not there, whatever the clocks say.
func (o Observation) before(s *v1alpha1.Suite) bool {
	own := strings.HasPrefix(s.Annotations[v1alpha1.AnnotationRequestID], RequestID(o.Target.Host, o.CommentID)+".")
	return s.CreationTimestamp.Time.Before(o.Said.CreatedAt) && !own
}

// ofHead returns the runs of the head commit that are about the pull request, ordered by name.
func (o Observation) ofHead() (runs []*v1alpha1.Suite) {
	for _, r := range o.Runs {
		if commit.NormalSHA(r.Suite.Spec.Deployment.SHA) == commit.NormalSHA(o.PullRequest.SHA) && posts(r, o.Target) &&
			o.belongs(r.Suite) && !r.Suite.Restored() {
			runs = append(runs, r.Suite)
		}
	}
	slices.SortFunc(runs, func(a, b *v1alpha1.Suite) int { return cmp.Compare(a.Name, b.Name) })
	return runs
}

// posts reports whether the Trigger of a run posts to the repository, as it is now.
func posts(r report.Run, to report.Target) bool {
	on, problem := report.TargetOf(r.Suite, r.Trigger)
	return problem == nil && on.Host == to.Host && commit.SameRepository(on.Repository, to.Repository)
}

// belongs reports whether a run of the head commit is about the pull request. Other people may have deployed the
// commit of a fork, so only a notification that names the pull request counts.
func (o Observation) belongs(s *v1alpha1.Suite) bool {
	d := s.Spec.Deployment
	if o.PullRequest.Fork {
		return d.PullRequestNumber == o.PullRequest.Number
	}
	number := report.PullRequestNumber(s)
	return number == o.PullRequest.Number || number == 0 && (d.Branch == "" || notification.BranchName(d.Branch) == o.PullRequest.Branch)
}

func newestOf(runs []*v1alpha1.Suite) (newest *v1alpha1.Suite) {
	for _, s := range runs {
		if newest == nil || s.CreationTimestamp.After(newest.CreationTimestamp.Time) {
			newest = s
		}
	}
	return newest
}

// newestAttempts returns the last of each run, ordered by name.
func newestAttempts(runs []*v1alpha1.Suite) (newest []*v1alpha1.Suite) {
	known := map[[3]string]int{}
	for _, s := range runs {
		key := [3]string{s.Spec.Trigger.Name, s.Spec.Environment, s.Spec.Deployment.Service}
		i, has := known[key]
		switch {
		case !has:
			known[key] = len(newest)
			newest = append(newest, s)
		case s.Spec.Attempt > newest[i].Spec.Attempt:
			newest[i] = s
		}
	}
	return newest
}
