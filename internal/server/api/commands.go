package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

func (r *Request) command() dispatch.Command {
	return dispatch.Command{
		Team: r.Principal.Team, By: r.Principal.Sender.Text, RequestID: r.requestID, ReceivedAt: r.receivedAt, Grant: r.Principal.Grant,
	}
}

func (a *API) cancelRun(w http.ResponseWriter, r *Request) error {
	name := r.runName().Name
	s, err := a.Dispatcher.Cancel(r.Context(), r.command(), name)
	if isKind(err, dispatch.RunNotFound) {
		return a.cancelArchived(w, r, name)
	}
	if err != nil {
		return dispatchFailure(err, dispatch.Result{})
	}
	return a.writeRun(w, r, http.StatusOK, record.RunOf(r.team(), s))
}

func (a *API) cancelArchived(w http.ResponseWriter, r *Request, name string) error {
	rec, err := a.findRecord(r.Context(), r.Principal.Team, name)
	switch {
	case err != nil:
		return err
	case rec == nil:
		return runNotFound(nil)
	case rec.State == v1alpha1.ReasonCanceled:
		return a.writeRun(w, r, http.StatusOK, rec.Run)
	default:
		return &failure{code: "run_finished", message: "The run " + name + " has ended already: " + rec.State + ". There is nothing to cancel."}
	}
}

func (a *API) rerunRun(w http.ResponseWriter, r *Request) error {
	a.startSpan(r)
	name := r.runName().Name
	c, ok := r.command(), false
	if c.OnlyFailed, ok = flag(r.URL.Query()["failed"]); !ok {
		return &failure{code: "invalid_request", message: "Send failed as true or false."}
	}
	next, created, err := a.Dispatcher.Rerun(r.Context(), c, name)
	if isKind(err, dispatch.RunNotFound) {
		return a.rerunArchived(r.Context(), r.Principal.Team, name)
	}
	if err != nil {
		return dispatchFailure(err, dispatch.Result{})
	}
	r.audit = append(r.audit, "of", name)
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return a.writeRun(w, r, status, record.RunOf(r.team(), next))
}

func (a *API) rerunArchived(ctx context.Context, team *v1alpha1.Team, name string) error {
	rec, err := a.findRecord(ctx, team, name)
	switch {
	case err != nil:
		return err
	case rec == nil:
		return runNotFound(nil)
	default:
		return &failure{code: "refused", message: "The Suite of the run " + name + " was deleted, and its record lacks the values of secret variables. " +
			"Deploy this commit again, and notify."}
	}
}

func (a *API) environmentTerminated(w http.ResponseWriter, r *Request) error {
	if err := a.admit(r, "application/json", dispatch.Create); err != nil {
		return err
	}
	body, err := a.readBody(w, r, a.Limits.BodyBytes)
	if err != nil {
		return err
	}
	t, err := notification.DecodeTermination(body)
	if err != nil {
		return invalidBody(err)
	}
	ended, err := a.Dispatcher.Terminate(r.Context(), r.command(), t)
	if err != nil {
		return dispatchFailure(err, dispatch.Result{})
	}
	answer := newTerminationResult(ended)
	for _, e := range answer.Results {
		r.audit = append(r.audit, "environment", e.EnvironmentAlias, "suites", e.Runs)
	}
	writeJSON(w, "application/json", http.StatusOK, answer)
	return nil
}

func newTerminationResult(ended []dispatch.Terminated) httpapi.TerminationResult {
	answer := httpapi.TerminationResult{EnvironmentID: string(ended[0].Environment.UID)}
	for _, e := range ended {
		answer.Results = append(answer.Results, httpapi.Terminated{
			EnvironmentID: string(e.Environment.UID), EnvironmentAlias: e.Environment.Name, Code: "terminated",
			Runs: append([]string{}, e.Runs[:min(len(e.Runs), maxTerminatedRuns)]...), // never null
		})
	}
	return answer
}

func isKind(err error, kind dispatch.ErrorKind) bool {
	whole, ok := errors.AsType[*dispatch.Error](err)
	return ok && whole.Kind == kind
}
