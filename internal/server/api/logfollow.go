package api

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/apierror"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// follow sends logs, one after the other, until the run has ended.
func (l *logRequest) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Limits.MaxFollow, errFollowedLong)
	defer cancel()
	started := time.Now()
	var sent []runs.Log
	for {
		ended := l.refresh(ctx)
		sources, err := l.soFar(ctx, ended)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(sources, func(s runs.Log) bool { return !among(sent, s) }); i >= 0 {
			if err := l.followOne(ctx, sources[i], ended, len(sources) > 1 || len(sent) > 0); err != nil {
				return err
			}
			sent = append(sent, sources[i])
			continue
		}
		waited := len(sent) == 0 && time.Since(started) >= l.Limits.MaxWait
		switch {
		case len(sent) == 0 && (ended || waited):
			return l.nothing(ctx)
		case ended:
			return nil
		}
		if err := l.pause(ctx); err != nil {
			return err
		}
	}
}

// refresh reads the run again, and reports whether it has ended. A Suite that is gone had.
func (l *logRequest) refresh(ctx context.Context) (ended bool) {
	if l.run.Archived() {
		return true
	}
	s := &v1alpha1.Suite{}
	err := l.Runs.Cache.Get(ctx, l.name, s, client.UnsafeDisableDeepCopy)
	switch {
	case err == nil && s.UID == l.run.Suite.UID:
		l.run.Suite = s
	case err == nil:
		return true // a new run has its name
	case apierror.NotFound(err):
		return l.seen // the cache may not have it yet
	}
	l.seen = true
	return l.run.Suite.Finished()
}

// soFar are the logs of now. As long as a run goes on, only those of its pods count, and a run that waits for its turn
// has none.
func (l *logRequest) soFar(ctx context.Context, ended bool) ([]runs.Log, error) {
	if ended {
		return l.sources(ctx)
	}
	if state := l.run.Suite.State(); state == "" || state == v1alpha1.ReasonQueued {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.Limits.LookupTimeout)
	defer cancel()
	logs, err := l.Runs.LiveLogs(ctx, l.run, l.query.LogQuery)
	return logs, lookupFailure(err)
}

// among reports whether the log was sent, up to the same restart of the container.
func among(sent []runs.Log, l runs.Log) bool {
	return slices.ContainsFunc(sent, func(other runs.Log) bool { return other.String() == l.String() && other.Restarts >= l.Restarts })
}

// pause waits for a change of the run, or a while: no event says that a container has started.
func (l *logRequest) pause(ctx context.Context) error {
	changed, unsubscribe := l.Runs.Changes.Subscribe(l.name)
	defer unsubscribe()
	if l.Runs.Changes.Closed() {
		return brokenOff(runs.ErrDraining)
	}
	timer := time.NewTimer(l.Limits.PodPoll)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return brokenOff(context.Cause(ctx))
	}
	return nil
}

// followOne sends a log until the container ends.
func (l *logRequest) followOne(ctx context.Context, s runs.Log, ended, titled bool) error {
	title := func() { l.out.title(s.String()) }
	if !titled {
		title = nil
	}
	if !s.Live || ended {
		return l.sendOne(ctx, s, title)
	}
	log := l.Runs.FollowLog(ctx, l.run, s, l.query.tail)
	defer log.Close()
	return l.copy(ctx, log, title)
}
