package runs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// runName looks in the namespace of the team only, and shares no memory with the Request.
func runName(r *exchange.Request) types.NamespacedName {
	id := r.PathValue("id")
	if r.PathValue("rest") != "" {
		id = "" // no run has it
	}
	return runs.NameOf(r.Principal.Team.NamespaceName(), id)
}

func (a *API) findRun(r *exchange.Request) (*runs.Run, error) {
	run, err := a.Runs.Find(r.Context(), r.Principal.Team, runName(r).Name)
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
	return exchange.RunUnavailable(err)
}

func archiveAway(err error) error {
	return &exchange.Failure{Code: "store_unavailable", Cause: err,
		Message: fmt.Sprintf("What runs left behind cannot be read from the store at the moment: %v. Ask again in a few seconds.", err)}
}

func runNotFound(err error) error {
	return &exchange.Failure{Code: "run_not_found", Cause: err, Message: "Run not found: this team has no run of that id. " +
		"Check the id and the API key; finished runs are deleted after a while."}
}

// Get returns a run.
func (a *API) Get(w http.ResponseWriter, r *exchange.Request) error {
	run, err := a.findRun(r)
	if err != nil {
		return err
	}
	return a.writeRun(w, r, http.StatusOK, run.Shown())
}

func (a *API) writeRun(w http.ResponseWriter, r *exchange.Request, status int, shown httpapi.Run) error {
	r.AddToAudit("suite", shown.ID, "state", shown.State)
	exchange.WriteJSON(w, status, a.withURL(shown))
	return nil
}

func (a *API) withURL(shown httpapi.Run) httpapi.Run {
	shown.URL = suite.PageURL(a.PublicURL, shown.Namespace, shown.ID)
	return shown
}

// CheckKnown hides runs of Environments that do not exist for the sender.
func (a *API) CheckKnown(r *exchange.Request) error {
	run, err := a.findRun(r)
	if err == nil && !r.Principal.Grant.KnowsRun(run.Suite.Spec.Environment, run.Suite.Spec.Deployment.URL) {
		return runNotFound(nil)
	}
	return err
}

// CheckGrant lets a sender that may read some runs read their successors, too: later attempts, and newer deployments.
func (a *API) CheckGrant(r *exchange.Request) error {
	name := runName(r)
	if slices.Contains(r.Principal.Grant.Runs, name.Name) {
		return nil
	}
	for _, granted := range r.Principal.Grant.Runs {
		root, err := a.findSuite(r.Context(), types.NamespacedName{Namespace: name.Namespace, Name: granted})
		if errors.Is(err, runs.ErrNotFound) {
			continue // it is gone, without a successor
		}
		if err != nil {
			return err
		}
		stream, err := a.Runs.Successors(r.Context(), root)
		if err != nil {
			return lookupFailure(err)
		}
		if verdict.Relevant(root, stream).Name == name.Name {
			return nil
		}
	}
	return runNotFound(nil)
}
