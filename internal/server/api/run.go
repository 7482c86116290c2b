package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// runName looks in the namespace of the team only, and shares no memory with the Request.
func (r *Request) runName() types.NamespacedName {
	id := r.PathValue("id")
	if r.PathValue("rest") != "" {
		id = "" // no run has it
	}
	return runs.NameOf(r.Principal.Team.NamespaceName(), id)
}

func (a *API) findRun(r *Request) (*runs.Run, error) {
	run, err := a.Runs.Find(r.Context(), r.Principal.Team, r.runName().Name)
	return run, lookupFailure(err)
}

func (a *API) findRecord(ctx context.Context, team *v1alpha1.Team, id string) (*record.Record, error) {
	rec, err := a.Runs.FindRecord(ctx, team, id)
	return rec, lookupFailure(err)
}

func (a *API) findSuite(ctx context.Context, name types.NamespacedName) (*v1alpha1.Suite, error) {
	s, err := a.Runs.FindSuite(ctx, name)
	return s, lookupFailure(err)
}

func lookupFailure(err error) error {
	if err == nil {
		return nil
	}
	if away, ok := errors.AsType[*runs.ArchiveError](err); ok {
		return archiveAway(away)
	}
	if errors.Is(err, runs.ErrNotFound) {
		return runNotFound(err)
	}
	return unavailable(err)
}

func archiveAway(err error) error {
	return &failure{code: "store_unavailable", cause: err,
		message: fmt.Sprintf("What runs left behind cannot be read from the store at the moment: %v. Ask again in a few seconds.", err)}
}

func runNotFound(err error) error {
	return &failure{code: "run_not_found", cause: err, message: "Run not found: this team has no run of that id. " +
		"Check the id and the API key; finished runs are deleted after a while."}
}

func unavailable(err error) error {
	return &failure{code: "unavailable", cause: err, message: "The run cannot be looked up at the moment. Ask again in a few seconds."}
}

func (a *API) getRun(w http.ResponseWriter, r *Request) error {
	run, err := a.findRun(r)
	if err != nil {
		return err
	}
	return a.writeRun(w, r, http.StatusOK, run.Shown())
}

func (a *API) writeRun(w http.ResponseWriter, r *Request, status int, shown httpapi.Run) error {
	r.audit = append(r.audit, "suite", shown.ID, "state", shown.State)
	writeJSON(w, "application/json", status, a.withURL(shown))
	return nil
}

func (a *API) withURL(shown httpapi.Run) httpapi.Run {
	shown.URL = suite.PageURL(a.PublicURL, shown.Namespace, shown.ID)
	return shown
}
