package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/record"
	"github.com/postflight-dev/postflight/internal/suite"
)

// Archive has what runs left behind. If something is not there, the error is fs.ErrNotExist; another error may pass.
type Archive interface {
	// Runs are those of a team, newest first; with before, only those older than it.
	Runs(ctx context.Context, team string, before *record.Run) iter.Seq2[record.Run, error]
	// Summaries are runs in the order of the argument, without those that have no record yet.
	Summaries(ctx context.Context, runs []record.Run) ([]httpapi.Run, error)
	// Record is that of the newest run with this id.
	Record(ctx context.Context, team, id string) (record.Record, error)
	// SignArtifact returns a URL to GET the file from.
	SignArtifact(ctx context.Context, r record.Run, pod, path string) (string, error)
	// Artifacts are in the order of pod and path. Those after next are on the next page.
	Artifacts(ctx context.Context, r record.Run, after string, limit int) (page []record.Artifact, next string, err error)
	SavedLogs
}

// noSuite is too long to be the name of a Suite, but the API server can look it up.
var noSuite = strings.Repeat("0", 64)

// runName is the run that the path of a request names, in the namespace of its team only, so that another team's run is
// unknown. A malformed id is looked up as well, so that it takes as long as an unknown one. The name shares no memory
// with the Request.
func (r *Request) runName() types.NamespacedName {
	name := strings.Clone(r.PathValue("id"))
	if len(validation.IsDNS1123Label(name)) > 0 || r.PathValue("rest") != "" {
		name = noSuite
	}
	return types.NamespacedName{Namespace: r.Principal.Team.NamespaceName(), Name: name}
}

// run is a run of the cluster or of the archive.
type run struct {
	id     record.Run
	suite  *v1alpha1.Suite // of the cluster, shared with the cache; nil once it was deleted
	record *record.Record  // of the archive; nil if there is a Suite
}

// findRun looks for a run in the cluster, and then in the archive.
func (a *API) findRun(r *Request) (*run, error) {
	name := r.runName()
	s, err := a.findSuite(r.Context(), name)
	if err == nil {
		return &run{id: record.Of(r.team(), s), suite: s}, nil
	}
	if !notFound(err) {
		return nil, err
	}
	rec, archiveErr := a.findRecord(r.Context(), r.team(), name.Name)
	if archiveErr != nil {
		return nil, archiveErr
	}
	if rec == nil {
		return nil, err
	}
	return &run{id: record.Run{Team: r.team(), ID: rec.ID, Created: rec.CreatedAt}, record: rec}, nil
}

// findRecord is nil if the archive has none.
func (a *API) findRecord(ctx context.Context, team, id string) (*record.Record, error) {
	if a.Archive == nil || id == noSuite {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.Limits.LookupTimeout)
	defer cancel()
	rec, err := a.Archive.Record(ctx, team, id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, archiveAway(err)
	default:
		return &rec, nil
	}
}

func archiveAway(err error) error {
	return &failure{code: "store_unavailable", cause: err,
		message: fmt.Sprintf("What runs left behind cannot be read from the store at the moment: %v. Ask again in a few seconds.", err)}
}

// findSuite reads a run that the cache does not have from the API server, because it may be new. The Suite is shared
// with the cache.
func (a *API) findSuite(ctx context.Context, name types.NamespacedName) (*v1alpha1.Suite, error) {
	s := &v1alpha1.Suite{}
	err := a.Cache.Get(ctx, name, s, client.UnsafeDisableDeepCopy)
	if apierror.NotFound(err) {
		err = a.getLive(ctx, name, s)
	}
	switch {
	case err == nil:
		return s, nil
	case apierror.NotFound(err):
		return nil, runNotFound(err)
	default:
		return nil, unavailable(err)
	}
}

func (a *API) getLive(ctx context.Context, name types.NamespacedName, s *v1alpha1.Suite) error {
	ctx, cancel := context.WithTimeout(ctx, a.Limits.LookupTimeout)
	defer cancel()
	return a.Live.Get(ctx, name, s)
}

func runNotFound(err error) error {
	return &failure{code: "run_not_found", cause: err, message: "Run not found: this team has no run of that id. " +
		"Check the id and the API key; finished runs are deleted after a while."}
}

func notFound(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.code == "run_not_found"
}

func unavailable(err error) error {
	return &failure{code: "unavailable", cause: err, message: "The run cannot be looked up at the moment. Ask again in a few seconds."}
}

// getRun answers what is known of a run.
func (a *API) getRun(w http.ResponseWriter, r *Request) error {
	run, err := a.findRun(r)
	if err != nil {
		return err
	}
	return a.writeRun(w, r, http.StatusOK, run.shown())
}

func (r *run) shown() httpapi.Run {
	if r.record != nil {
		return r.record.Run
	}
	return record.RunOf(r.id.Team, r.suite)
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
