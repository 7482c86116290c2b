package runs

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// ErrNotFound means that a team has no such run. Other errors but ArchiveError are those of the API server.
var ErrNotFound = errors.New("there is no such run")

// ArchiveError means that the archive cannot be read. Everyone may read its text.
type ArchiveError struct{ Err error }

func (e *ArchiveError) Error() string { return e.Err.Error() }
func (e *ArchiveError) Unwrap() error { return e.Err }

func archiveError(err error) error {
	if err == nil {
		return nil
	}
	return &ArchiveError{err}
}

// Run is a run of the cluster or of the archive.
type Run struct {
	ID     record.Run
	Suite  *v1alpha1.Suite // shared with the cache; from the record once it was deleted
	Record *record.Record  // nil while there is a Suite
}

// Archived reports whether the Suite was deleted.
func (r *Run) Archived() bool { return r.Record != nil }

// Shown is the run as the HTTP API shows it.
func (r *Run) Shown() httpapi.Run {
	if r.Record != nil {
		return r.Record.Run
	}
	return record.RunOf(r.ID.Team, r.Suite)
}

// noSuite is too long to be the name of a Suite, but the API server can look it up.
var noSuite = strings.Repeat("0", 64)

// NameOf gives a malformed id the name of no Suite, so that both take equally long. The name shares no memory with the id.
func NameOf(namespace, id string) types.NamespacedName {
	if len(validation.IsDNS1123Label(id)) > 0 {
		id = noSuite
	}
	return types.NamespacedName{Namespace: namespace, Name: strings.Clone(id)}
}

// Find looks for a run of a team in the cluster, and then in the archive.
func (r *Reader) Find(ctx context.Context, team *v1alpha1.Team, id string) (*Run, error) {
	s, err := r.FindSuite(ctx, NameOf(team.NamespaceName(), id))
	if err == nil {
		return &Run{ID: record.Of(team.Name, s), Suite: s}, nil
	}
	if !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	rec, archiveErr := r.FindRecord(ctx, team, id)
	if archiveErr != nil {
		return nil, archiveErr
	}
	if rec == nil {
		return nil, err
	}
	return &Run{ID: record.Run{Team: team.Name, ID: rec.ID, Created: rec.CreatedAt}, Suite: suiteOf(rec), Record: rec}, nil
}

// suiteOf makes a Suite for early or broken records, which lack it.
func suiteOf(rec *record.Record) *v1alpha1.Suite {
	if rec.Suite != nil && rec.Suite.Name == rec.ID {
		return rec.Suite
	}
	return record.SuiteOf(rec.Run)
}

// FindRecord returns nil if the archive has no record of this team. An earlier Team may have had its name.
func (r *Reader) FindRecord(ctx context.Context, team *v1alpha1.Team, id string) (*record.Record, error) {
	if r.Archive == nil || len(validation.IsDNS1123Label(id)) > 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.LookupTimeout)
	defer cancel()
	rec, err := r.Archive.Record(ctx, team.Name, id)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !team.Owns(rec.CreatedAt) {
		return nil, nil
	}
	return &rec, archiveError(err)
}

// FindSuite asks the API server if the cache lacks the run, which may be new.
func (r *Reader) FindSuite(ctx context.Context, name types.NamespacedName) (*v1alpha1.Suite, error) {
	s := &v1alpha1.Suite{}
	err := r.Cache.Get(ctx, name, s, client.UnsafeDisableDeepCopy)
	if apierror.NotFound(err) {
		s = &v1alpha1.Suite{}
		err = r.getLive(ctx, name, s)
	}
	if apierror.NotFound(err) {
		return nil, errors.Join(ErrNotFound, err)
	}
	return s, err
}

// WithVariables adds the variables, which the cache drops at the end of a run, or if a namespace has too many. The error is ErrNotFound if
// it was deleted meanwhile.
func (r *Reader) WithVariables(ctx context.Context, s *v1alpha1.Suite) (*v1alpha1.Suite, error) {
	if !s.Finished() && s.Annotations[v1alpha1.AnnotationVariablesOmitted] == "" {
		return s, nil
	}
	live := &v1alpha1.Suite{}
	err := r.getLive(ctx, client.ObjectKeyFromObject(s), live)
	if apierror.NotFound(err) || err == nil && live.UID != s.UID {
		return nil, ErrNotFound
	}
	return live, err
}

// Successors returns the runs that may count instead of a run that was superseded or is repeated. Other runs need none.
func (r *Reader) Successors(ctx context.Context, s *v1alpha1.Suite) ([]*v1alpha1.Suite, error) {
	var successors []*v1alpha1.Suite
	for range maxSuccessors {
		if s.Status.RepeatedBy == "" {
			break
		}
		next, err := r.FindSuite(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Status.RepeatedBy})
		if errors.Is(err, ErrNotFound) {
			return successors, nil // one that was deleted has no result
		}
		if err != nil {
			return nil, err
		}
		successors, s = append(successors, next), next
	}
	later, err := r.superseding(ctx, s)
	return append(later, successors...), err
}

// maxSuccessors is more than there are: a run is repeated up to five times because of errors, and once because what it tested changed, but
// a notification may have created the repetition. Anyone who can edit the status of Suites can write a circle.
const maxSuccessors = 16

func (r *Reader) superseding(ctx context.Context, s *v1alpha1.Suite) ([]*v1alpha1.Suite, error) {
	if s.State() != v1alpha1.ReasonSuperseded {
		return nil, nil
	}
	stream, err := index.StreamOf(ctx, r.Cache, s)
	name := s.Status.SupersededBy
	if err != nil || name == "" || slices.ContainsFunc(stream, func(other *v1alpha1.Suite) bool { return other.Name == name }) {
		return stream, err
	}
	// The cache does not have it yet if it does not have s either, and no longer if it was deleted.
	successor := &v1alpha1.Suite{}
	err = r.getLive(ctx, types.NamespacedName{Namespace: s.Namespace, Name: name}, successor)
	if err == nil {
		stream = append(stream, successor)
	}
	return stream, apierror.IgnoreNotFound(err)
}

func (r *Reader) getLive(ctx context.Context, name types.NamespacedName, s *v1alpha1.Suite) error {
	ctx, cancel := context.WithTimeout(ctx, r.LookupTimeout)
	defer cancel()
	return r.Live.Get(ctx, name, s)
}
