package events

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report/judge"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// Answer is what came of an event.
type Answer struct {
	Event   event.Event
	Ignored string // a sentence: why it starts nothing; empty: it may

	Request dispatch.Request // of a deployment
	Result  dispatch.Result
	Reruns  []Rerun // that the event asks for
	Review  string  // the name of the DeploymentReview that decides about a deployment

	Canceled     []string // runs that the event stops
	Environments []string // ephemeral ones that it ends
	Says         string   // the line that answers a command
}

// Rerun is what came of the request to rerun a run.
type Rerun struct {
	Run     string
	Next    string // its next attempt; empty: there is none
	Created bool   // by this event
	Problem string // a sentence: why there is none
}

// Receive acts on an event that was verified. Its error is an *event.InvalidError, a *dispatch.Error, or one that the sender cannot change.
// The Answer has what is known then.
func (r *Receiver) Receive(ctx context.Context, s Source, d Delivery) (Answer, error) {
	e, err := r.Formats[s.Object.Spec.Type].Decode(d.Header, d.Body, r.options(s))
	a := Answer{Event: e}
	if err != nil {
		return a, err
	}
	if now := r.now(); e.At.After(now) { // else the clock of a sender could make its deployment newer than all others
		e.At = now
		a.Event = e
	}
	key := ""
	if e.Key != "" {
		key = string(s.Object.UID) + "\x00" + e.Key
	}
	switch {
	case e.Ignored != "":
		a.Ignored = e.Ignored
	case !event.Covers(s.Object.Spec.Repositories, e.Repository):
		a.Ignored = fmt.Sprintf("spec.repositories of the EventSource %s does not list the repository.", s.Object.Name)
	case r.recent.has(s.Object.Namespace, key):
		a.Ignored = "An equal event was received within the last five minutes."
	case e.Review != nil:
		err = r.review(ctx, s, d, &a)
	case e.Rerun != nil:
		err = r.rerun(ctx, s, d, &a)
	case e.Comment != nil:
		err = r.command(ctx, s, d, &a)
	case e.Closed != 0:
		err = r.closed(ctx, s, d, &a)
	default:
		err = r.deployed(ctx, s, d, &a)
	}
	leftOut := slices.ContainsFunc(a.Result.Triggers, func(t dispatch.TriggerResult) bool { return t.LeftOut })
	if err == nil && !leftOut && len(a.Result.Triggers)+len(a.Reruns) > 0 { // what starts nothing may come again after a change
		r.recent.add(s.Object.Namespace, key)
	}
	return a, err
}

func (r *Receiver) options(s Source) event.Options {
	o := event.Options{OwnApp: r.App.ID, Environments: map[string]string{}, Deployments: s.Object.Spec.Deployments}
	for _, e := range s.Object.Spec.Environments {
		o.Environments[e.Event] = e.DeploymentType
	}
	return o
}

func (r *Receiver) deployed(ctx context.Context, s Source, d Delivery, a *Answer) (err error) {
	e := a.Event
	if a.Ignored, err = r.Problem(ctx, s.Object.Namespace, e); err != nil || a.Ignored != "" {
		return err
	}
	a.Request = dispatch.Request{
		Team: s.Team, Notification: e.Notification, IdempotencyKey: e.ID, RequestID: d.RequestID, ReceivedAt: d.ReceivedAt,
		By: "the EventSource " + s.Object.Name, Origin: dispatch.FromEvent(e.At).Showing(e.Post),
	}
	a.Result, err = r.Dispatcher.Dispatch(ctx, a.Request)
	return err
}

// Problem returns why the deployment of an event starts nothing in a namespace, as a sentence, or "".
func (r *Receiver) Problem(ctx context.Context, namespace string, e event.Event) (string, error) {
	n := e.Notification
	runs, err := index.Suites(ctx, r.Cache, namespace, index.Commit, n.SHA)
	if err != nil {
		return "", fmt.Errorf("look up the runs of the commit: %w", err)
	}
	for _, repository := range []string{n.Repository, ""} { // a notification need not name it
		others, err := index.Suites(ctx, r.Cache, namespace, index.Target,
			index.TargetKey(n.HostingService, repository, n.DeploymentType))
		if err != nil {
			return "", fmt.Errorf("look up the runs of other deployments: %w", err)
		}
		runs = append(runs, others...)
	}
	return judge.Problem(e, runs, r.Reports, r.now()), nil
}

func (r *Receiver) rerun(ctx context.Context, s Source, d Delivery, a *Answer) error {
	wanted := a.Event.Rerun
	runs, err := index.Suites(ctx, r.Cache, s.Object.Namespace, index.Commit, wanted.Commit)
	if err != nil {
		return fmt.Errorf("look up the runs of the commit: %w", err)
	}
	posted := judge.Reruns(a.Event, runs)
	if len(posted) == 0 {
		a.Ignored = "No run of the team posted this check: its Suite was deleted, or belongs to another team. To test the commit again, notify."
		return nil
	}
	for _, run := range posted {
		next, created, err := r.Dispatcher.Rerun(ctx, dispatch.Command{
			Team: s.Team, By: wanted.By, RequestID: d.RequestID, ReceivedAt: d.ReceivedAt,
		}, run.Name)
		result := Rerun{Run: run.Name, Created: created}
		if failure, ok := errors.AsType[*dispatch.Error](err); ok && final(failure.Kind) {
			result.Problem = failure.Message
		} else if err != nil {
			return err
		} else {
			result.Next = next.Name
		}
		a.Reruns = append(a.Reruns, result)
	}
	return nil
}

// final reports whether the same event would fail again.
func final(kind dispatch.ErrorKind) bool {
	return kind != dispatch.Overloaded && kind != dispatch.Unavailable
}
