package runs

import (
	"context"
	"errors"
	"net/http"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// Cancel ends a run.
func (a *API) Cancel(w http.ResponseWriter, r *exchange.Request) error {
	name := runName(r).Name
	s, err := a.Dispatcher.Cancel(r.Context(), r.Command(), name)
	if isKind(err, dispatch.RunNotFound) {
		return a.cancelArchived(w, r, name)
	}
	if err != nil {
		return exchange.DispatchFailure(err, dispatch.Result{})
	}
	return a.writeRun(w, r, http.StatusOK, record.RunOf(r.Team(), s))
}

func (a *API) cancelArchived(w http.ResponseWriter, r *exchange.Request, name string) error {
	rec, err := a.findRecord(r.Context(), r.Principal.Team, name)
	switch {
	case err != nil:
		return err
	case rec == nil:
		return runNotFound(nil)
	case rec.State == v1alpha1.ReasonCanceled:
		return a.writeRun(w, r, http.StatusOK, rec.Run)
	default:
		return &exchange.Failure{Code: "run_finished",
			Message: "The run " + name + " has ended already: " + rec.State + ". There is nothing to cancel."}
	}
}

// Rerun starts a run again, or its failed tests.
func (a *API) Rerun(w http.ResponseWriter, r *exchange.Request) error {
	a.StartSpan(r)
	name := runName(r).Name
	c, ok := r.Command(), false
	if c.OnlyFailed, ok = exchange.Flag(r.URL.Query()["failed"]); !ok {
		return &exchange.Failure{Code: "invalid_request", Message: "Send failed as true or false."}
	}
	next, created, err := a.Dispatcher.Rerun(r.Context(), c, name)
	if isKind(err, dispatch.RunNotFound) {
		return a.rerunArchived(r.Context(), r.Principal.Team, name)
	}
	if err != nil {
		return exchange.DispatchFailure(err, dispatch.Result{})
	}
	r.AddToAudit("of", name)
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return a.writeRun(w, r, status, record.RunOf(r.Team(), next))
}

func (a *API) rerunArchived(ctx context.Context, team *v1alpha1.Team, name string) error {
	rec, err := a.findRecord(ctx, team, name)
	switch {
	case err != nil:
		return err
	case rec == nil:
		return runNotFound(nil)
	default:
		return &exchange.Failure{Code: "refused",
			Message: "The Suite of the run " + name + " was deleted, and its record lacks the values of secret variables. " +
				"Deploy this commit again, and notify."}
	}
}

func isKind(err error, kind dispatch.ErrorKind) bool {
	failed, ok := errors.AsType[*dispatch.Error](err)
	return ok && failed.Kind == kind
}
