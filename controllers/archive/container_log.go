package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/transfer"
)

const (
	// openTimeout is how long a node may take to answer.
	openTimeout = 15 * time.Second

	// resumePause comes before each attempt to continue a log whose connection broke.
	resumePause = time.Second

	// endChecks is how often a followed log is reopened without news: the kubelet reports the end of a container a second or two later.
	endChecks = 5
)

// containerLog reads a log until its context ends, across broken connections. It keeps the error of reading apart from the archive's.
type containerLog struct {
	ctx  context.Context
	logs PodLogs

	namespace, pod string
	options        corev1.PodLogOptions
	runs           func() bool // the container of a log that is followed; nil: it has ended

	body io.ReadCloser // nil: it could not be opened
	read int64
	ends int // of connections, since the last byte
	err  error
}

func openLog(ctx context.Context, logs PodLogs, namespace string, s record.Source, runs func() bool) *containerLog {
	l := &containerLog{ctx: ctx, logs: logs, namespace: namespace, pod: s.Pod, runs: runs,
		options: corev1.PodLogOptions{Container: s.Container, Previous: s.Previous, Follow: runs != nil}}
	l.body, l.err = l.open()
	return l
}

func (l *containerLog) open() (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(l.ctx)
	timer := time.AfterFunc(openTimeout, cancel)
	body, err := l.logs.Open(ctx, l.namespace, l.pod, l.options)
	inTime := timer.Stop()
	if err == nil && inTime {
		return canceledByClose{body, cancel}, nil
	}
	cancel()
	if err == nil {
		body.Close()
		err = ctx.Err()
	}
	if !inTime && l.ctx.Err() == nil && !errors.Is(err, apierror.ErrLogGone) {
		err = fmt.Errorf("%w within %s", apierror.ErrNodeUnreachable, openTimeout)
	}
	return nil, err
}

type canceledByClose struct {
	io.ReadCloser
	cancel func()
}

func (c canceledByClose) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

func (l *containerLog) Read(p []byte) (int, error) {
	for l.err == nil {
		n, err := l.body.Read(p)
		l.read += int64(n)
		switch {
		case n > 0, err == nil:
			l.ends = 0
			return n, nil
		case errors.Is(err, io.EOF) && l.hasEnded():
			return 0, io.EOF
		}
		failure := l.resume()
		if errors.Is(err, io.EOF) && errors.Is(failure, apierror.ErrLogGone) {
			return 0, io.EOF // the container had ended, and was removed
		}
		l.err = failure
	}
	return 0, l.err
}

// If the kubelet closes the connection, or restarts, the API server makes that look like the end of the log.
func (l *containerLog) hasEnded() bool {
	l.ends++
	return l.runs == nil || l.ends > endChecks || !l.runs()
}

// errShorter means that what was read before is no longer in the file that the node serves.
var errShorter = errors.New("the log is shorter than before, because the node has begun another file")

func (l *containerLog) resume() error {
	for {
		if err := transfer.Sleep(l.ctx, resumePause); err != nil {
			return err
		}
		body, err := l.open()
		if err == nil {
			l.body.Close()
			l.body = body
			err = l.skip()
		}
		if err == nil || errors.Is(err, apierror.ErrLogGone) || errors.Is(err, errShorter) {
			return err
		}
	}
}

func (l *containerLog) skip() error {
	_, err := io.CopyN(io.Discard, l.body, l.read)
	if errors.Is(err, io.EOF) {
		return errShorter
	}
	return err
}

// Close ends the connection.
func (l *containerLog) Close() error {
	if l.body == nil {
		return nil
	}
	return l.body.Close()
}

// silentNodes are spared for a while: each request costs a worker the openTimeout, and a lost node may have a hundred runs.
type silentNodes struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	until map[string]time.Time
}

func newSilentNodes(c clock.PassiveClock) *silentNodes {
	return &silentNodes{clock: c, until: map[string]time.Time{}}
}

func (n *silentNodes) open(ctx context.Context, logs PodLogs, namespace string, s record.Source) *containerLog {
	if n.has(s.Node) {
		return &containerLog{err: apierror.ErrNodeUnreachable}
	}
	l := openLog(ctx, logs, namespace, s, nil)
	if errors.Is(l.err, apierror.ErrNodeUnreachable) {
		n.add(s.Node)
	}
	return l
}

func (n *silentNodes) has(node string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.clock.Now().Before(n.until[node])
}

func (n *silentNodes) add(node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.clock.Now()
	for other, until := range n.until {
		if now.After(until) {
			delete(n.until, other)
		}
	}
	n.until[node] = now.Add(unreadableEvery / 2)
}
