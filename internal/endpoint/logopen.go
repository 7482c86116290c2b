package endpoint

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/apierror"
)

// open opens a log from its pod, or from the archive if the pod no longer has it, or its node hangs.
func (l *logRequest) open(ctx context.Context, s logSource) (io.ReadCloser, error) {
	if !s.live {
		return l.openSaved(ctx, s)
	}
	liveCtx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(l.Limits.LookupTimeout, cancel)
	body, err := l.openLive(liveCtx, s, false)
	if err == nil && timer.Stop() {
		return closer{body, func() error { cancel(); return body.Close() }}, nil
	}
	cancel()
	if err == nil {
		body.Close()
		err = apierror.ErrNodeUnreachable
	}
	if l.Archive == nil || errors.Is(err, apierror.ErrNotStarted) {
		return nil, err
	}
	if saved, savedErr := l.openSaved(ctx, s); savedErr == nil {
		return saved, nil
	}
	return nil, err
}

func (l *logRequest) openLive(ctx context.Context, s logSource, follow bool) (io.ReadCloser, error) {
	options := corev1.PodLogOptions{Container: s.container, Previous: s.previous, Follow: follow}
	if l.query.tail >= 0 {
		options.TailLines = new(int64(l.query.tail))
	}
	return l.PodLogs.Open(ctx, l.name.Namespace, s.pod, options)
}

// lazyLog is opened when it is read: a node answers no request to follow a log before the container writes. If that
// fails, it is opened otherwise.
type lazyLog struct {
	open, otherwise func() (io.ReadCloser, error)
	log             io.ReadCloser
}

func (z *lazyLog) Read(p []byte) (n int, err error) {
	if z.log != nil {
		return z.log.Read(p)
	}
	if z.log, err = z.open(); err == nil {
		if n, err = z.log.Read(p); err == nil || errors.Is(err, io.EOF) {
			return n, err
		}
		z.log.Close()
	}
	if z.log, err = z.otherwise(); err != nil {
		return 0, err
	}
	return z.log.Read(p)
}

func (z *lazyLog) Close() error {
	if z.log == nil {
		return nil
	}
	return z.log.Close()
}

// openSaved reads a log twice for its end: the number of its lines is not known, and to keep so many could take as much
// memory as the log.
func (l *logRequest) openSaved(ctx context.Context, s logSource) (io.ReadCloser, error) {
	skip := 0
	if l.query.tail >= 0 {
		lines, err := l.countLines(ctx, s)
		if err != nil {
			return nil, err
		}
		skip = max(0, lines-l.query.tail)
	}
	body, err := l.Archive.OpenLog(ctx, l.run.id, s.pod, s.container, s.previous)
	if err != nil || skip == 0 {
		return body, err
	}
	reader := bufio.NewReaderSize(body, logBuffer)
	for skip > 0 && err == nil {
		if _, err = reader.ReadSlice('\n'); errors.Is(err, bufio.ErrBufferFull) {
			err = nil // the line goes on
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

// countLines counts a last line without an end, too.
func (l *logRequest) countLines(ctx context.Context, s logSource) (lines int, err error) {
	body, err := l.Archive.OpenLog(ctx, l.run.id, s.pod, s.container, s.previous)
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

type closer struct {
	io.Reader
	close func() error
}

func (c closer) Close() error { return c.close() }

// logFailure says why a log cannot be read, and what to do.
func logFailure(err error) *failure {
	switch {
	case errors.Is(err, apierror.ErrNotStarted):
		return &failure{code: "log_not_found", cause: err, message: "The container has not started. Ask again later, or with follow=true."}
	case errors.Is(err, apierror.ErrLogGone), errors.Is(err, fs.ErrNotExist):
		return &failure{code: "log_not_found", cause: err, message: "The log is gone, because its container, pod or node is, and the archive does not have it."}
	case errors.Is(err, apierror.ErrNodeUnreachable):
		return &failure{code: "unavailable", cause: err, message: "The node of the pod does not hand out the log. Ask again in a minute."}
	default:
		return &failure{code: "unavailable", cause: err, message: "The log cannot be read at the moment. Ask again in a few seconds."}
	}
}
