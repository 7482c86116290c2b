package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// A request without an answer may have posted the check, so the next one reads back what the host shows.
func (r *Reconciler) sendCheck(ctx context.Context, o report.Observation, to destination) (sent, error) {
	key := client.ObjectKeyFromObject(o.Suite)
	unlock, ok := r.locks.take(fmt.Sprintf("check %s %s %s", commit.RepositoryKey(to.Repository), report.Name(o.Suite, ""), to.SHA))
	if !ok {
		return sent{busy: true}, nil
	}
	defer unlock()
	o, step, err := r.current(ctx, o, to.Target, report.Next)
	if err == nil && step.Condition != nil { // a newer attempt has come meanwhile
		return sent{}, r.explain(ctx, o, *step.Condition)
	}
	if err != nil || !step.Post {
		return sent{}, err
	}
	s := o.Suite
	to.Check, to.Last, to.Unsure = report.Of(s, r.Config.Options), report.PostedTo(s, to.Target), r.memory.unsure(s)
	r.memory.doubt(key) // until the result is stored
	shown, err := to.Post(ctx, to.Request)
	done, err := sentWith(err)
	if done.failure != nil && done.failure.Kind != report.Unavailable {
		r.memory.settle(key)
	}
	if err != nil || done.failure != nil {
		return done, err
	}
	shown.Deployment, shown.PullRequest = to.Last.Deployment, to.Last.PullRequest
	if err := r.write(ctx, s, &shown, new(report.Posted(to.Check, to.Target))); err != nil {
		return done, err
	}
	r.memory.settle(key)
	return done, nil
}

func (r *Reconciler) sendDeployment(ctx context.Context, o report.Observation, to destination) (sent, error) {
	unlock, ok := r.locks.take(fmt.Sprintf("deployment %s %s %s", o.Suite.Namespace, o.Suite.Spec.Environment, to.SHA))
	if !ok {
		return sent{busy: true}, nil
	}
	defer unlock()
	o, step, err := r.current(ctx, o, to.Target, report.NextDeployment)
	if err != nil || !step.Post {
		return sent{}, err
	}
	others, err := r.others(ctx, o.Suite, client.MatchingFields{index.Commit: to.SHA})
	if err != nil {
		return sent{}, err
	}
	ofTrigger, err := r.others(ctx, o.Suite, client.MatchingFields{index.Trigger: o.Suite.Spec.Trigger.Name})
	if err != nil {
		return sent{}, err
	}
	shown := report.PostedTo(o.Suite, to.Target)
	deployment := report.DeploymentOn(shown)
	shown.Deployment = &deployment
	id, more := int64(0), false
	done, err := sentWith(r.untilSettled(ctx, others, func() (err error) {
		request := report.DeploymentRequest{Request: to.Request}
		request.Deployment, request.ID = report.DeploymentOf(
			report.Run{Suite: o.Suite, Trigger: o.Trigger}, slices.Concat(others, ofTrigger), r.Config.Options)
		request.ID = cmp.Or(request.ID, id)
		id, more, err = to.Deploy(ctx, request)
		return err
	}))
	switch {
	case err != nil:
		return done, err
	case done.failure != nil:
		deployment.Problem = report.ProblemOf(done.failure)
	case more:
		deployment.ID, done.more = id, true
	default:
		deployment.ID, deployment.Phase, deployment.Problem = id, report.PhaseOf(o.Suite), ""
	}
	return done, r.write(ctx, o.Suite, &shown, nil)
}

func (r *Reconciler) sendComment(ctx context.Context, o report.Observation, to destination) (sent, error) {
	posted := report.PullRequestOn(report.PostedTo(o.Suite, to.Target))
	done, err := findPullRequest(ctx, to, &posted)
	if err != nil {
		return done, err
	}
	unlock, ok := r.locks.take(fmt.Sprintf("comment %s %s %d", o.Suite.Namespace, commit.RepositoryKey(to.Repository), posted.Number))
	if !ok {
		done.busy = true
		return done, nil
	}
	defer unlock()
	o, step, err := r.current(ctx, o, to.Target, report.NextComment)
	if err != nil || !step.Post {
		return sent{}, err
	}
	posted.CommentID = report.PullRequestOn(report.PostedTo(o.Suite, to.Target)).CommentID
	if done.failure == nil && posted.Number != 0 {
		if done, err = r.comment(ctx, o, to, &posted); err != nil {
			return done, err
		}
	}
	posted.Problem = ""
	if done.failure != nil {
		posted.Problem = report.ProblemOf(done.failure)
	} else {
		posted.Phase, posted.Answered = report.PhaseOf(o.Suite), report.AnswerOn(o.Suite).Comment
	}
	shown := report.PostedTo(o.Suite, to.Target)
	shown.PullRequest = &posted
	return done, r.write(ctx, o.Suite, &shown, nil)
}

func findPullRequest(ctx context.Context, to destination, posted *v1alpha1.PullRequestReport) (sent, error) {
	if posted.Number != 0 {
		return sent{}, nil
	}
	found, err := to.PullRequest(ctx, to.Request)
	if err != nil {
		return sentWith(err)
	}
	if found != nil {
		posted.Number, posted.URL = found.Number, report.PullRequestURL(found.URL)
	}
	return sent{}, nil
}

// A later run in the row writes the comment itself.
func (r *Reconciler) comment(ctx context.Context, o report.Observation, to destination, posted *v1alpha1.PullRequestReport) (sent, error) {
	others, err := r.others(ctx, o.Suite,
		client.MatchingFields{index.Commit: to.SHA}, client.MatchingFields{index.PullRequest: index.PullRequestKey(posted.Number)})
	if err != nil {
		return sent{}, err
	}
	written := false
	done, err := sentWith(r.untilSettled(ctx, others, func() (err error) {
		c := report.CommentOf(report.Run{Suite: o.Suite, Trigger: o.Trigger}, others, posted.Number, r.Config.Options)
		if c.Shows {
			written = true
			posted.CommentID, err = to.Comment(ctx, report.CommentRequest{
				Request: to.Request, Number: posted.Number, ID: cmp.Or(c.ID, posted.CommentID), Marker: c.Marker, Body: c.Body,
			})
		}
		return err
	}))
	done.posted = done.posted && written
	return done, err
}

// maxRewrites bounds how often a text is written again because runs have ended meanwhile. Those write it as well.
const maxRewrites = 3

// Another leader that writes at the same time cannot leave an older state behind: the last one to write looks once more.
func (r *Reconciler) untilSettled(ctx context.Context, others []report.Run, write func() error) error {
	for range maxRewrites {
		if err := write(); err != nil {
			return err
		}
		changed, err := r.refresh(ctx, others)
		if err != nil || !changed {
			return err
		}
	}
	return nil
}

func (r *Reconciler) refresh(ctx context.Context, runs []report.Run) (changed bool, err error) {
	for i, run := range runs {
		if run.Suite.Finished() {
			continue
		}
		now, err := reconcile.Get[v1alpha1.Suite](ctx, r.Live, run.Suite.Namespace, run.Suite.Name)
		if err != nil {
			return false, err
		}
		if now != nil && report.PhaseOf(now) != report.PhaseOf(run.Suite) {
			runs[i].Suite, changed = now, true
		}
	}
	return changed, nil
}

// The cache has at least what caused this reconcile, so that the last of several runs that share something sees all of them.
func (r *Reconciler) others(ctx context.Context, s *v1alpha1.Suite, by ...client.MatchingFields) ([]report.Run, error) {
	var runs []report.Run
	seen, triggers := map[string]bool{s.Name: true}, map[string]*v1alpha1.Trigger{}
	for _, fields := range by {
		list := &v1alpha1.SuiteList{}
		if err := r.List(ctx, list, client.InNamespace(s.Namespace), fields, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		for i := range list.Items {
			other := &list.Items[i]
			name := other.Spec.Trigger.Name
			if seen[other.Name] {
				continue
			}
			if _, known := triggers[name]; !known {
				t, err := reconcile.Shared[v1alpha1.Trigger](ctx, r, s.Namespace, name)
				if err != nil {
					return nil, err
				}
				triggers[name] = t
			}
			seen[other.Name] = true
			runs = append(runs, report.Run{Suite: other, Trigger: triggers[name]})
		}
	}
	return runs, nil
}
