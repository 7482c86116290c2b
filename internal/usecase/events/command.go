package events

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/command"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// command does what a comment asks for, after the code host has confirmed it.
func (r *Receiver) command(ctx context.Context, s Source, d Delivery, a *Answer) error {
	c := *a.Event.Comment
	wanted, found := command.Parse(c.Body)
	if !found {
		a.Ignored = "The comment has no line that begins with /postflight."
		return nil
	}
	host, ignored, err := r.askFor(ctx, s, a.Event.Repository, c.Number)
	if err != nil || ignored != "" {
		a.Ignored = ignored
		return err
	}
	if err := r.pace(s); err != nil {
		return err
	}
	o, err := r.observe(ctx, s, host, wanted, a)
	if err != nil || a.Ignored != "" {
		return err
	}
	plan := command.Decide(o)
	outcomes, err := r.carryOut(ctx, s, d, o, plan, a)
	if err != nil {
		return err
	}
	reaction, answer := command.Answer(o, plan, outcomes)
	a.Says = answer.Text
	if place := command.Place(o, outcomes); place != nil {
		if err := r.keep(ctx, place, answer); err != nil {
			return err
		}
	}
	r.react(ctx, host, c.ID, reaction)
	return nil
}

// observe asks the code host for the comment, its author and the pull request. If the comment does not count, the answer says why.
func (r *Receiver) observe(
	ctx context.Context, s Source, host asked, wanted command.Command, a *Answer,
) (o command.Observation, err error) {
	c := *a.Event.Comment
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	said, err := host.Said(asking, command.Question{Request: host.Request, CommentID: c.ID})
	if err != nil {
		a.Ignored, err = refusal(err)
		return o, err
	}
	if a.Ignored = command.Problem(c, said, r.now()); a.Ignored != "" {
		if command.IsStranger(c, said, r.now()) && r.retorts.allow(s) {
			r.react(ctx, host, c.ID, command.Confused)
		}
		return o, nil
	}
	request, err := host.PullRequest(asking, host.Request)
	if err != nil {
		a.Ignored, err = refusal(err)
		return o, err
	}
	if request == nil {
		a.Ignored = "The code host knows no such pull request."
		return o, nil
	}
	runs, err := r.runsOf(ctx, s, host, index.Commit, request.SHA)
	return command.Observation{
		Command: wanted, Said: *said, CommentID: c.ID, Target: host.Target, PullRequest: *request, Runs: runs,
	}, err
}

// runsOf returns runs of the team whose Triggers post to the repository. What the cache calls unfinished is read again, because it may lag,
// and replicas must decide alike.
func (r *Receiver) runsOf(ctx context.Context, s Source, host asked, field, value string) (runs []report.Run, err error) {
	list, err := index.Suites(ctx, r.Cache, s.Object.Namespace, field, value)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for _, run := range list {
		t := host.triggers[run.Spec.Trigger.Name]
		if t == nil {
			continue
		}
		if !run.Finished() {
			now := &v1alpha1.Suite{}
			err := r.Live.Get(ctx, client.ObjectKeyFromObject(run), now)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
			run = now
		}
		runs = append(runs, report.Run{Suite: run, Trigger: t})
	}
	return runs, nil
}

func (r *Receiver) carryOut(
	ctx context.Context, s Source, d Delivery, o command.Observation, plan command.Plan, a *Answer,
) (outcomes []command.Outcome, err error) {
	c := dispatch.Command{
		Team: s.Team, By: command.By(&o.Said, o.Target.Host), RequestID: command.RequestID(o.Target.Host, o.CommentID),
		ReceivedAt: d.ReceivedAt, OnlyFailed: plan.OnlyFailed,
	}
	for _, run := range plan.Rerun {
		next, created, err := r.Dispatcher.Rerun(ctx, c, run.Name)
		problem, err := problemOf(err)
		if err != nil {
			return nil, err
		}
		result := Rerun{Run: run.Name, Created: created, Problem: problem}
		if problem != "" {
			next = nil
		} else {
			result.Next = next.Name
		}
		a.Reruns = append(a.Reruns, result)
		outcomes = append(outcomes, command.Outcome{Suite: run, Next: next, Problem: problem})
	}
	canceled, err := r.cancel(ctx, c, plan.Cancel, a)
	return append(outcomes, canceled...), err
}

func (r *Receiver) cancel(
	ctx context.Context, c dispatch.Command, runs []*v1alpha1.Suite, a *Answer,
) (outcomes []command.Outcome, err error) {
	for _, run := range runs {
		_, err := r.Dispatcher.Cancel(ctx, c, run.Name)
		problem, err := problemOf(err)
		if err != nil {
			return nil, err
		}
		if problem == "" {
			a.Canceled = append(a.Canceled, run.Name)
		}
		outcomes = append(outcomes, command.Outcome{Suite: run, Problem: problem})
	}
	return outcomes, nil
}

// problemOf tells why a run stays as it is from an error that another delivery may not have.
func problemOf(err error) (problem string, _ error) {
	if failure, ok := errors.AsType[*dispatch.Error](err); ok && final(failure.Kind) {
		return failure.Message, nil
	}
	return "", err
}

// keepTries is how often an answer is stored: the status of a run changes often, and other deliveries of the comment may be here.
const keepTries = 5

// keep stores the answer on a run, unless the run has an answer to this comment or to a later one. The leader shows it in the
// comment of Postflight.
func (r *Receiver) keep(ctx context.Context, run *v1alpha1.Suite, answer report.Answer) (err error) {
	for range keepTries {
		now := &v1alpha1.Suite{}
		err = r.Live.Get(ctx, client.ObjectKeyFromObject(run), now)
		known := report.AnswerOn(now)
		if err != nil || known.Comment == answer.Comment || known.After(answer) {
			break
		}
		answer.Text = mask.Of(now.Spec.Variables).Text(answer.Text)
		patch := client.MergeFromWithOptions(now.DeepCopy(), client.MergeFromWithOptimisticLock{})
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, v1alpha1.AnnotationAnswer, answer.Annotation())
		if err = r.Dispatcher.Writer.Patch(ctx, now, patch); !apierrors.IsConflict(err) {
			break
		}
	}
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("%w: keep the answer: %w", ErrUnavailable, err)
	}
	return nil
}

// react tells the author at a glance. If the code host does not take it, the work is done nevertheless.
func (r *Receiver) react(ctx context.Context, host asked, comment int64, reaction command.Reaction) {
	ctx, cancel := context.WithTimeout(ctx, reactTimeout)
	defer cancel()
	if err := host.React(ctx, command.Question{Request: host.Request, CommentID: comment}, reaction); err != nil {
		logr.FromContextOrDiscard(ctx).Info("cannot react to a comment", "host", host.Host, "repository", host.Repository,
			"reason", err.Error())
	}
}
