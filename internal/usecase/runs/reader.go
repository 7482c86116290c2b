// Package runs reads runs from the cache, their logs from pods, and what they left behind from the archive.
package runs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/fairness"
)

// Archive has what runs left behind. Its error is fs.ErrNotExist if there is nothing; others are temporary, and their text is public.
type Archive interface {
	// Runs are those of a team, newest first; with before, only those older than it.
	Runs(ctx context.Context, team string, before *record.Run) iter.Seq2[record.Run, error]
	// Summaries are runs in the order of the argument, without those that have no record yet.
	Summaries(ctx context.Context, runs []record.Run) ([]httpapi.Run, error)
	// Record is that of the newest run with this id.
	Record(ctx context.Context, team, id string) (record.Record, error)
	// Logs have only names and compressed sizes.
	Logs(ctx context.Context, r record.Run) ([]record.Log, error)
	OpenLog(ctx context.Context, r record.Run, pod, container string, previous bool) (io.ReadCloser, error)
	// Artifacts are in the order of pod and path. Those after next are on the next page.
	Artifacts(ctx context.Context, r record.Run, after string, limit int) (page []record.Artifact, next string, err error)
	OpenArtifact(ctx context.Context, r record.Run, pod, path string) (record.File, error)
	// Results are the results documents of the pods.
	Results(ctx context.Context, r record.Run) iter.Seq2[record.Results, error]
	// Attestation is the signed verdict of a run.
	Attestation(ctx context.Context, r record.Run) ([]byte, error)
	// SignArtifact returns a URL to GET the file from.
	SignArtifact(ctx context.Context, r record.Run, pod, path string) (string, error)
}

// PodLogs reads logs of containers. Its error wraps one of apierror.OfLog, if it is one of these.
type PodLogs interface {
	Open(ctx context.Context, namespace, pod string, o corev1.PodLogOptions) (io.ReadCloser, error)
}

// Limits bound how long a reader waits, and how many logs it sends.
type Limits struct {
	// LookupTimeout bounds how long the API server may take to return a run, and the archive to return a page.
	LookupTimeout time.Duration
	// LogStall bounds the wait for the next bytes of a log that does not grow.
	LogStall time.Duration
	// Logs bounds the logs that are being sent, by the HTTP API and to pages that follow them.
	Logs int
}

// DefaultLimits are the limits, each with its reason.
func DefaultLimits() Limits {
	return Limits{
		LookupTimeout: 10 * time.Second, // Clients ask again.
		LogStall:      30 * time.Second, // Longer than a working node needs. The run has ended, so nothing more is written.
		// 200 for one team. Each costs two connections with buffers and stacks, and lines that a browser does not read.
		Logs: 225,
	}
}

// Config is what a Reader needs.
type Config struct {
	Cache   client.Reader // reads Suites without asking the API server
	Live    client.Reader // reads from the API server
	PodLogs PodLogs
	Archive Archive // nil if no store is configured
	Limits
}

// Reader reads runs. Its Suites are shared with the cache and must not be changed.
type Reader struct {
	Config
	Changes *Broadcaster
	Sending *fairness.TeamLimiter

	suites *suiteIndex
	files  *fileLists
	tests  *explanations
}

// New returns a Reader. Call SuiteChanged with every Suite.
func New(c Config) (*Reader, error) {
	if c.Cache == nil || c.Live == nil || c.PodLogs == nil {
		return nil, errors.New("to read runs takes a cache, a live reader and a reader of logs")
	}
	return &Reader{
		Config: c, Changes: newBroadcaster(), Sending: fairness.NewTeamLimiter(c.Logs),
		suites: newIndex(), files: newFileLists(), tests: newExplanations(),
	}, nil
}

// SuiteChanged updates the list of runs, and wakes requests that wait for the Suite or its Environment, unless only its message changed. A
// new Suite has no before, and a deleted Suite no after. The cache has the change by then.
func (r *Reader) SuiteChanged(before, after *v1alpha1.Suite) {
	r.suites.observe(before, after)
	s := cmp.Or(after, before)
	if s == nil || sameState(before, after) {
		return
	}
	r.Changes.Publish(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
	r.Changes.Publish(InEnvironment(s.Namespace, s.Spec.Environment))
}

func sameState(before, after *v1alpha1.Suite) bool {
	return before != nil && after != nil && before.UID == after.UID && before.State() == after.State()
}

// InEnvironment is what to subscribe to for the runs of an Environment. No run has a slash in its name.
func InEnvironment(namespace, environment string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: "environments/" + environment}
}

// HasArchive reports whether runs leave anything behind.
func (r *Reader) HasArchive() bool { return r.Archive != nil }

// Newest returns the Suites of a namespace, newest first.
func (r *Reader) Newest(namespace string) []*v1alpha1.Suite { return r.suites.newest(namespace) }

// Look returns how many runs of a namespace need a look.
func (r *Reader) Look(namespace string) int { return r.suites.look(namespace) }

// maxWithResults is how many runs of an outage of the store are passed over: each costs a request.
const maxWithResults = 5

// WithResults returns the last runs of the Trigger, Environment and service of a run that ended with results, the last one first.
func (r *Reader) WithResults(of *v1alpha1.Suite) []*v1alpha1.Suite {
	return r.suites.withResults(of)
}
