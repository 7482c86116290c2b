package runs

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// ErrBrokenOff wraps why the logs of a run that has not ended cannot be followed further.
var ErrBrokenOff = errors.New("the logs are no longer followed")

// Follower finds the logs of a run, one after the other, until it has ended.
type Follower struct {
	Ended   bool // the run has
	Several bool // there is more than one log so far

	r       *Reader
	run     *Run
	name    types.NamespacedName
	query   LogQuery
	poll    time.Duration
	started time.Time
	sent    []Log
	seen    bool // the cache has had the Suite
}

// Follow returns a Follower, which looks for logs at each change of the run and every poll. It updates the Suite of the run.
func (r *Reader) Follow(run *Run, name types.NamespacedName, q LogQuery, poll time.Duration) *Follower {
	return &Follower{r: r, run: run, name: name, query: q, poll: poll, started: time.Now()}
}

// Next waits for the next log. It returns io.EOF if there are no more, or if the first does not come in time.
func (f *Follower) Next(ctx context.Context, first time.Duration) (Log, error) {
	for {
		f.Ended = f.refresh(ctx)
		logs, err := f.soFar(ctx)
		if err != nil {
			return Log{}, err
		}
		if i := slices.IndexFunc(logs, func(l Log) bool { return !f.wasSent(l) }); i >= 0 {
			f.Several = len(logs) > 1 || len(f.sent) > 0
			f.sent = append(f.sent, logs[i])
			return logs[i], nil
		}
		if f.Ended || len(f.sent) == 0 && time.Since(f.started) >= first {
			return Log{}, io.EOF
		}
		if err := f.pause(ctx); err != nil {
			return Log{}, errors.Join(ErrBrokenOff, err)
		}
	}
}

// refresh reports whether the run has ended. A Suite that is gone had.
func (f *Follower) refresh(ctx context.Context) (ended bool) {
	if f.run.Archived() {
		return true
	}
	s := &v1alpha1.Suite{}
	err := f.r.Cache.Get(ctx, f.name, s, client.UnsafeDisableDeepCopy)
	switch {
	case err == nil && s.UID == f.run.Suite.UID:
		f.run.Suite = s
	case err == nil:
		return true // a new run has its name
	case apierror.NotFound(err):
		return f.seen // the cache may not have it yet
	}
	f.seen = true
	return f.run.Suite.Finished()
}

// soFar returns only logs of pods until the run ends. A queued run has none.
func (f *Follower) soFar(ctx context.Context) ([]Log, error) {
	if f.Ended {
		return f.r.Logs(ctx, f.run, f.query)
	}
	if state := f.run.Suite.State(); state == "" || state == v1alpha1.ReasonQueued {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, f.r.LookupTimeout)
	defer cancel()
	return f.r.liveLogs(ctx, f.run, f.query)
}

func (f *Follower) wasSent(l Log) bool {
	return slices.ContainsFunc(f.sent, func(other Log) bool { return other.String() == l.String() && other.Restarts >= l.Restarts })
}

// pause also waits only a while, because no event says that a container has started.
func (f *Follower) pause(ctx context.Context) error {
	changed, unsubscribe := f.r.Changes.Subscribe(f.name)
	defer unsubscribe()
	if f.r.Changes.Closed() {
		return errDraining
	}
	timer := time.NewTimer(f.poll)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
