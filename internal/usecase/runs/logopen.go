package runs

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
	"github.com/postflight-dev/postflight/internal/transfer"
)

// AllLines is the tail that reads a whole log.
const AllLines = -1

// logBuffer is how much of a log is in memory, in bytes.
const logBuffer = 32 << 10

// errDraining ends all waits when the server stops.
var errDraining = errors.New("the server stops")

// OpenLog opens the last lines of a log. The error is one of apierror.OfLog, or fs.ErrNotExist if it is gone.
func (r *Reader) OpenLog(ctx context.Context, run *Run, l Log, tail int) (io.ReadCloser, error) {
	watched := r.watchLog(ctx)
	body, err := r.open(watched, run, l, tail)
	if err != nil {
		watched.End()
		return nil, err
	}
	reader := newStallReader(watched, body)
	reader.watch()
	return reader, nil
}

// FollowLog reads a log until its container ends. The first Read may wait for the container to start.
func (r *Reader) FollowLog(ctx context.Context, run *Run, l Log, tail int) io.ReadCloser {
	watched := r.watchLog(ctx)
	reader := newStallReader(watched, &lazyLog{
		open:      func() (io.ReadCloser, error) { return r.openLive(watched, run, l, tail, true) },
		otherwise: func() (io.ReadCloser, error) { return r.open(watched, run, l, tail) },
	})
	go r.watchEnd(run, reader)
	return reader
}

// watchLog waits for no byte until the reader watches.
func (r *Reader) watchLog(ctx context.Context) *transfer.Stall {
	watched := transfer.NewStall(ctx, r.LogStall, errStalled)
	watched.Pause()
	return watched
}

// open uses the archive if the pod no longer has the log, or its node hangs.
func (r *Reader) open(ctx context.Context, run *Run, l Log, tail int) (io.ReadCloser, error) {
	if !l.Live {
		return r.openSaved(ctx, run, l, tail)
	}
	liveCtx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(r.LookupTimeout, cancel)
	body, err := r.openLive(liveCtx, run, l, tail, false)
	if err == nil && timer.Stop() {
		return closer{body, func() error { cancel(); return body.Close() }}, nil
	}
	cancel()
	if err == nil {
		body.Close()
		err = apierror.ErrNodeUnreachable
	}
	if r.Archive == nil || errors.Is(err, apierror.ErrNotStarted) {
		return nil, err
	}
	if saved, savedErr := r.openSaved(ctx, run, l, tail); savedErr == nil {
		return saved, nil
	}
	return nil, err
}

func (r *Reader) openLive(ctx context.Context, run *Run, l Log, tail int, follow bool) (io.ReadCloser, error) {
	options := corev1.PodLogOptions{Container: l.Container, Previous: l.Previous, Follow: follow}
	if tail >= 0 {
		options.TailLines = new(int64(tail))
	}
	s, err := r.WithVariables(ctx, run.Suite)
	if errors.Is(err, ErrNotFound) {
		return nil, apierror.ErrLogGone
	}
	if err != nil {
		return nil, err
	}
	body, err := r.PodLogs.Open(ctx, run.Suite.Namespace, l.Pod, options)
	if err != nil {
		return nil, err
	}
	return closer{mask.Of(s.Spec.Variables).Reader(body), body.Close}, nil
}

// watchEnd starts the stall timer once the run has ended, because the node may hang.
func (r *Reader) watchEnd(run *Run, reader *stallReader) {
	watched, name := reader.watched, client.ObjectKeyFromObject(run.Suite)
	for {
		changed, unsubscribe := r.Changes.Subscribe(name)
		s := &v1alpha1.Suite{}
		err := r.Cache.Get(watched, name, s, client.UnsafeDisableDeepCopy)
		switch {
		case r.Changes.Closed():
			watched.EndWith(errDraining)
		case apierror.NotFound(err), err == nil && s.Finished():
			reader.watch()
		default:
			select {
			case <-changed:
			case <-watched.Done():
			}
			unsubscribe()
			if watched.Err() == nil {
				continue
			}
			return
		}
		unsubscribe()
		return
	}
}

// openSaved reads a log twice to find its last lines: keeping them could take as much memory as the log.
func (r *Reader) openSaved(ctx context.Context, run *Run, l Log, tail int) (io.ReadCloser, error) {
	skip := 0
	if tail >= 0 {
		lines, err := r.countLines(ctx, run, l)
		if err != nil {
			return nil, err
		}
		skip = max(0, lines-tail)
	}
	body, err := r.Archive.OpenLog(ctx, run.ID, l.Pod, l.Container, l.Previous)
	if err != nil || skip == 0 {
		return body, err
	}
	reader := bufio.NewReaderSize(body, logBuffer)
	for skip > 0 && err == nil {
		if _, err = reader.ReadSlice('\n'); errors.Is(err, bufio.ErrBufferFull) {
			err = nil // the line continues
			continue
		}
		skip--
	}
	if err != nil && !errors.Is(err, io.EOF) {
		body.Close()
		return nil, err
	}
	return closer{reader, body.Close}, nil
}

// countLines also counts a last line without an end.
func (r *Reader) countLines(ctx context.Context, run *Run, l Log) (lines int, err error) {
	body, err := r.Archive.OpenLog(ctx, run.ID, l.Pod, l.Container, l.Previous)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	last := byte('\n')
	buffer := make([]byte, logBuffer)
	for {
		n, err := body.Read(buffer)
		for _, last = range buffer[:n] {
			if last == '\n' {
				lines++
			}
		}
		if err == nil {
			continue
		}
		if last != '\n' {
			lines++
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return lines, err
	}
}
