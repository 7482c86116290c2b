// Package environments reads what Environments have and had, from the cluster and the archive as one.
package environments

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// Archive has what was deployed. Its error is fs.ErrNotExist if it knows nothing of the Environment; others are temporary, and their text
// is public.
type Archive interface {
	DeploymentsAt(ctx context.Context, team, environment string, at time.Time) ([]record.Deployment, error)
	DeploymentHistory(ctx context.Context, team, environment string, s record.Span, limit int) (all []record.Deployment, more bool, err error)
}

// Reader reads Environments. What it returns is shared with the cache and must not be changed.
type Reader struct {
	Cache   client.Reader
	Archive Archive // nil if no store is configured
	// LookupTimeout bounds how long the archive may take.
	LookupTimeout time.Duration
}

// ErrNotFound means that a team has no such Environment, and had nothing in one at that time.
var ErrNotFound = errors.New("there is no such Environment")

// ArchiveError means that the archive cannot be read. Everyone may read its text.
type ArchiveError struct{ Err error }

func (e *ArchiveError) Error() string { return e.Err.Error() }
func (e *ArchiveError) Unwrap() error { return e.Err }

// At returns what an Environment had at a time. It may have been deleted since.
func (r *Reader) At(ctx context.Context, team *v1alpha1.Team, name string, at time.Time) (httpapi.EnvironmentStatus, error) {
	e, lines, err := r.known(ctx, team, name, func(ctx context.Context) ([]record.Deployment, error) {
		return r.Archive.DeploymentsAt(ctx, team.Name, name, at)
	})
	if err != nil {
		return httpapi.EnvironmentStatus{}, err
	}
	return record.EnvironmentAt(team.Name, e, lines, at), nil
}

// History returns what an Environment had after a time, newest first.
func (r *Reader) History(
	ctx context.Context, team *v1alpha1.Team, name string, after time.Time, limit int,
) (httpapi.DeploymentHistory, error) {
	more := false
	e, lines, err := r.known(ctx, team, name, func(ctx context.Context) (all []record.Deployment, err error) {
		all, more, err = r.Archive.DeploymentHistory(ctx, team.Name, name, record.Span{After: after}, limit)
		return all, err
	})
	if err != nil {
		return httpapi.DeploymentHistory{}, err
	}
	h := record.HistoryOf(team.Name, e, lines, after, limit)
	h.More = h.More || more
	return h, nil
}

// maxDay bounds the deployments of a day that are read: more fill no picture.
const maxDay = 200

// Archived returns what the archive has of a span, newest first: nothing without a store.
func (r *Reader) Archived(ctx context.Context, team *v1alpha1.Team, name string, span record.Span) ([]httpapi.Deployment, error) {
	if r.Archive == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.LookupTimeout)
	defer cancel()
	lines, _, err := r.Archive.DeploymentHistory(ctx, team.Name, name, span, maxDay)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &ArchiveError{err}
	}
	var all []httpapi.Deployment
	for _, d := range lines {
		if team.Owns(d.Since) {
			all = append(all, d.Deployment)
		}
	}
	return all, nil
}

// known returns the Environment, empty if it was deleted, and the lines of the archive that this team owns.
func (r *Reader) known(
	ctx context.Context, team *v1alpha1.Team, name string, archived func(context.Context) ([]record.Deployment, error),
) (*v1alpha1.Environment, []record.Deployment, error) {
	e := deleted(team, name)
	err := r.Cache.Get(ctx, client.ObjectKeyFromObject(e), e)
	exists := err == nil
	if err != nil && !apierror.NotFound(err) {
		return nil, nil, err
	}
	var lines []record.Deployment
	archiveErr := fs.ErrNotExist
	if r.Archive != nil {
		ctx, cancel := context.WithTimeout(ctx, r.LookupTimeout)
		defer cancel()
		lines, archiveErr = archived(ctx)
	}
	if archiveErr != nil && !errors.Is(archiveErr, fs.ErrNotExist) {
		return nil, nil, &ArchiveError{archiveErr}
	}
	lines = slices.DeleteFunc(lines, func(d record.Deployment) bool { return !team.Owns(d.Since) })
	if !exists && len(lines) == 0 {
		return nil, nil, ErrNotFound
	}
	if !exists {
		e = deleted(team, name)
	}
	return e, lines, nil
}

func deleted(team *v1alpha1.Team, name string) *v1alpha1.Environment {
	e := &v1alpha1.Environment{}
	e.Namespace, e.Name = team.NamespaceName(), name
	return e
}
