package events

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/go-logr/logr"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/events"
)

var errNoEvents = &exchange.Failure{Code: "not_found",
	Message: "No events are taken at this address. Compare it with status.url of the EventSource, and look at its condition Ready. " +
		"The events of the GitHub App of the whole installation need --github-webhook-secret-file."}

var errNotVerified = &exchange.Failure{Code: "invalid_signature",
	Message: "The signature of this event is missing or not valid. Enter the same secret at the sender and in the Secret of the " +
		"EventSource, " +
		"and send the event as application/json, unchanged."}

// SourceEvent takes an event of an EventSource with a secret.
func (a *API) SourceEvent(w http.ResponseWriter, r *exchange.Request) error {
	if a.Receiver == nil {
		return errNoEvents
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context())) // a sender that hangs up ends nothing
	defer cancel()
	source, err := a.Receiver.Find(ctx, r.PathValue("namespace"), r.PathValue("name"))
	if err == nil {
		err = a.Receiver.Ready(ctx, source)
	}
	if err != nil {
		return eventFailure(err)
	}
	budget := a.unverified
	if a.Receiver.Proven(source) {
		budget = a.reserved
	}
	d, body, err := a.readEvent(w, r, budget, bodyOwner{source.Object.Namespace, source.Object.Name}, cancel)
	if err != nil {
		return err
	}
	defer body.release()
	if err := a.Receiver.Verify(ctx, source, d); err != nil {
		return a.notVerified(r, source.Object.Spec.Type, source.Object.Namespace+"/"+source.Object.Name, body, err)
	}
	body.keep()
	if source.Team.Spec.Suspended {
		a.count(source.Object.Spec.Type, eventFailed)
		return &exchange.Failure{Code: "team_suspended",
			Message: "The team of this EventSource is suspended. Ask the operator of this service to enable it."}
	}
	return a.takeEvent(w, r, []events.Source{source}, d, body.release)
}

// AppEvent takes an event of the manager's GitHub App, for all teams that have the repository.
func (a *API) AppEvent(w http.ResponseWriter, r *exchange.Request) error {
	if a.Receiver == nil || !a.Receiver.TakesApp() {
		return errNoEvents
	}
	d, body, err := a.readEvent(w, r, a.reserved, bodyOwner{}, func() {})
	if err != nil {
		return err
	}
	defer body.release()
	if err := a.Receiver.VerifyApp(d); err != nil {
		return a.notVerified(r, v1alpha1.EventsOfGitHub, "the GitHub App", body, err)
	}
	body.keep()
	e, err := a.Receiver.DecodeApp(d)
	if err != nil {
		a.count(v1alpha1.EventsOfGitHub, eventFailed)
		return eventFailure(err)
	}
	sources, err := a.Receiver.Covering(r.Context(), e.Repository)
	if err != nil {
		return eventFailure(err)
	}
	if len(sources) == 0 {
		a.count(v1alpha1.EventsOfGitHub, eventIgnored)
		ignored := e.Ignored
		if ignored == "" {
			ignored = "No team wants the events of this repository: its Team must list the repository, and its namespace have an EventSource " +
				"of the type GitHub."
		}
		exchange.WriteJSON(w, http.StatusOK, &httpapi.EventResult{Ignored: ignored})
		return nil
	}
	return a.takeEvent(w, r, sources, d, body.release)
}

func (a *API) notVerified(r *exchange.Request, kind v1alpha1.EventSourceType, source string, body *bodyRead, err error) error {
	switch {
	case errors.Is(err, events.ErrNotVerified):
		a.refusals.log(r.Context(), source, err)
		a.count(kind, eventNotVerified)
	case body.lost():
		return errManyEvents()
	}
	return eventFailure(err)
}

// takeEvent hands an event to each source. GitHub hangs up after ten seconds and never retries, so the dispatch continues.
func (a *API) takeEvent(w http.ResponseWriter, r *exchange.Request, sources []events.Source, d events.Delivery, read func()) error {
	ctx := context.WithoutCancel(r.Context())
	answer, answered := &httpapi.EventResult{}, false
	var failed error
	for _, s := range sources {
		a.ContinueAs(r, auth.Principal{Team: s.Team, Grant: grant.Grant{Actions: []grant.Action{grant.Notify, grant.Act}},
			Sender: auth.Sender{Kind: "event", Name: s.Object.Namespace + "/" + s.Object.Name, Text: "the EventSource " + s.Object.Name}})
		err := a.Answer(w, r, func(http.ResponseWriter, *exchange.Request) error {
			if !r.Acquire(a.events) {
				return exchange.Overloaded("The server is answering as many events as it can, or as many of this team as leave room for others. " +
					"Deliver the event again.")
			}
			read()
			some, err := a.takeFor(ctx, r, s, d)
			answered = merge(answer, some) || answered
			return err
		})
		if len(sources) > 1 {
			r.TeamStatus = exchange.StatusOf(err)
		}
		if err != nil && exchange.StatusOf(failed) < http.StatusInternalServerError {
			failed = err // the first error that makes the sender deliver again, if there is one
		}
	}
	if failed != nil {
		return failed
	}
	if answered {
		answer.Ignored = ""
	}
	exchange.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// takeFor returns what came of the event for one team.
func (a *API) takeFor(ctx context.Context, r *exchange.Request, s events.Source, d events.Delivery) (*httpapi.EventResult, error) {
	got, err := a.Receiver.Receive(ctx, s, d)
	e := got.Event
	r.AddToAudit("eventType", e.Type, "delivery", e.Delivery, "repository", e.Repository)
	if e.Notification != nil && e.Notification.Job != "" {
		r.AddToAudit("workflow", e.Notification.Workflow, "job", e.Notification.Job)
	}
	outcome := eventTaken
	switch {
	case err != nil:
		outcome = eventFailed
		logr.FromContextOrDiscard(r.Context()).Info("an event failed", "eventType", e.Type, "delivery", e.Delivery,
			"source", r.Principal.Sender.Name, "cause", err.Error())
	case got.Ignored != "":
		outcome = eventIgnored
		r.AddToAudit("ignored", got.Ignored)
	}
	a.count(s.Object.Spec.Type, outcome)
	if got.Request.Team != nil && (err == nil || len(got.Result.Triggers) > 0) {
		a.Record(r, got.Request, got.Result)
	}
	if got.Review != "" {
		r.AddToAudit("review", got.Review)
	}
	if len(got.Canceled)+len(got.Environments) > 0 {
		r.AddToAudit("canceled", got.Canceled, "ended", got.Environments)
	}
	for _, rerun := range got.Reruns {
		r.AddToAudit("of", rerun.Run, "suites", []string{rerun.Next})
	}
	if err != nil {
		return nil, eventFailureOf(err, got.Result)
	}
	return newEventResult(got), nil
}

func newEventResult(a events.Answer) *httpapi.EventResult {
	answer := &httpapi.EventResult{Ignored: a.Ignored, Review: a.Review, Canceled: a.Canceled, Ended: a.Environments, Answer: a.Says}
	if n := a.Event.Notification; n != nil && a.Ignored == "" {
		answer.Workflow, answer.Job, answer.Task = n.Workflow, n.Job, n.Task
	}
	for _, t := range a.Result.Triggers {
		answer.Results = append(answer.Results, exchange.NewResult(t))
	}
	for _, rerun := range a.Reruns {
		answer.Repeats = append(answer.Repeats,
			httpapi.EventRepeat{RunID: rerun.Run, NextRunID: rerun.Next, Created: rerun.Created, Problem: rerun.Problem})
	}
	return answer
}

// merge adds what came of an event for another team, and reports whether that team did not ignore it.
func merge(all, some *httpapi.EventResult) bool {
	if some == nil {
		return false
	}
	all.Results, all.Repeats = append(all.Results, some.Results...), append(all.Repeats, some.Repeats...)
	all.Review, all.Answer = cmp.Or(all.Review, some.Review), cmp.Or(all.Answer, some.Answer)
	all.Canceled, all.Ended = append(all.Canceled, some.Canceled...), append(all.Ended, some.Ended...)
	if some.Ignored == "" {
		all.Workflow, all.Job, all.Task = some.Workflow, some.Job, some.Task
	}
	if some.Ignored != "" && !strings.Contains(all.Ignored, some.Ignored) {
		all.Ignored = strings.TrimSpace(all.Ignored + " " + some.Ignored)
	}
	return some.Ignored == ""
}

func eventFailureOf(err error, r dispatch.Result) error {
	if _, ok := errors.AsType[*dispatch.Error](err); ok {
		return exchange.DispatchFailure(err, r)
	}
	return eventFailure(err)
}

func eventFailure(err error) error {
	invalid, ok := errors.AsType[*event.InvalidError](err)
	switch {
	case ok:
		return &exchange.Failure{Code: "invalid_body", Message: invalid.Reason}
	case errors.Is(err, events.ErrNotConfigured):
		return errNoEvents
	case errors.Is(err, events.ErrNotVerified):
		return errNotVerified
	case errors.Is(err, events.ErrUnavailable):
		return &exchange.Failure{Code: "unavailable", Cause: err,
			Message: "Events cannot be checked at the moment. Deliver this one again in a minute."}
	default:
		return err
	}
}
