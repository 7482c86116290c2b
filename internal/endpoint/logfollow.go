package endpoint

import (
	"context"
	"io"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apierror"
)

// follow sends logs, one after the other, until the run has ended.
func (l *logRequest) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Limits.MaxFollow, errFollowedLong)
	defer cancel()
	started := time.Now()
	var sent []logSource
	for {
		ended := l.refresh(ctx)
		sources, err := l.soFar(ctx, ended)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(sources, func(s logSource) bool { return !s.among(sent) }); i >= 0 {
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
	if l.run.suite == nil {
		return true
	}
	s := &v1alpha1.Suite{}
	err := l.Cache.Get(ctx, l.name, s, client.UnsafeDisableDeepCopy)
	switch {
	case err == nil && s.UID == l.run.suite.UID:
		l.run.suite = s
	case err == nil:
		return true // a new run has its name
	case apierror.NotFound(err):
		return l.seen // the cache may not have it yet
	}
	l.seen = true
	return l.run.suite.Finished()
}

// soFar are the logs of now. As long as a run goes on, only those of its pods count, and a run that waits for its turn
// has none.
func (l *logRequest) soFar(ctx context.Context, ended bool) ([]logSource, error) {
	if ended {
		return l.sources(ctx)
	}
	if state := l.run.suite.State(); state == "" || state == v1alpha1.ReasonQueued {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.Limits.LookupTimeout)
	defer cancel()
	return l.live(ctx, l.query)
}

// among reports whether the log was sent, up to the same restart of the container.
func (s logSource) among(sent []logSource) bool {
	return slices.ContainsFunc(sent, func(other logSource) bool { return other.String() == s.String() && other.restarts >= s.restarts })
}

// pause waits for a change of the run, or a while: no event says that a container has started.
func (l *logRequest) pause(ctx context.Context) error {
	changed, unsubscribe := l.runs.Subscribe(l.name)
	defer unsubscribe()
	if l.runs.isClosed() {
		return brokenOff(errDraining)
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
func (l *logRequest) followOne(ctx context.Context, s logSource, ended, titled bool) error {
	title := func() { l.out.title(s.String()) }
	if !titled {
		title = nil
	}
	if !s.live || ended {
		return l.sendOne(ctx, s, title)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body := &lazyLog{
		open:      func() (io.ReadCloser, error) { return l.openLive(ctx, s, true) },
		otherwise: func() (io.ReadCloser, error) { return l.open(ctx, s) },
	}
	reader := newStallReader(body, l.Limits.LogStall, func() { cancel(errStalled) })
	defer reader.Close()
	go l.watchEnd(ctx, reader, cancel)
	return l.copy(ctx, reader, title)
}

// watchEnd makes the reader impatient once the run has ended: the node may hang.
func (l *logRequest) watchEnd(ctx context.Context, reader *stallReader, cancel context.CancelCauseFunc) {
	for {
		changed, unsubscribe := l.runs.Subscribe(l.name)
		s := &v1alpha1.Suite{}
		err := l.Cache.Get(ctx, l.name, s, client.UnsafeDisableDeepCopy)
		switch {
		case l.runs.isClosed():
			cancel(errDraining)
		case apierror.NotFound(err), err == nil && s.Finished():
			reader.watch()
		default:
			select {
			case <-changed:
			case <-ctx.Done():
			}
			unsubscribe()
			if ctx.Err() == nil {
				continue
			}
			return
		}
		unsubscribe()
		return
	}
}
