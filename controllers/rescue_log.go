package controllers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/apierror"
	"github.com/postflight-dev/postflight/internal/record"
	"github.com/postflight-dev/postflight/internal/sleep"
)

// followRetry is the pause before the next attempt to go on with a log whose connection broke.
const followRetry = time.Second

// followedLog is the log of a container until the container ends. It survives connections that break. If the rest
// cannot be read, its last line says so: what was read until then may exist nowhere else.
type followedLog struct {
	open func() (io.ReadCloser, error)
	wait func() error // before each further attempt, until no time is left

	body io.ReadCloser
	read int64
	end  io.Reader // takes the place of the rest
}

func followLog(ctx context.Context, logs PodLogs, namespace string, s record.Source) (*followedLog, error) {
	o := corev1.PodLogOptions{Container: s.Container, Previous: s.Previous, Follow: s.Running}
	l := &followedLog{
		open: func() (io.ReadCloser, error) { return logs.Open(ctx, namespace, s.Pod, o) },
		wait: func() error { return sleep.For(ctx, followRetry) },
	}
	var err error
	l.body, err = l.open()
	return l, err
}

func (l *followedLog) Read(p []byte) (int, error) {
	for l.end == nil {
		n, err := l.body.Read(p)
		l.read += int64(n)
		if n > 0 || err == nil {
			return n, nil
		}
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err := l.resume(); err != nil {
			l.end = strings.NewReader("\n[Postflight could not read the rest of this log.]\n")
		}
	}
	return l.end.Read(p)
}

// resume reads the log again, up to where the connection broke.
func (l *followedLog) resume() error {
	for {
		if err := l.wait(); err != nil {
			return err
		}
		body, err := l.open()
		if errors.Is(err, apierror.ErrLogGone) {
			return err
		}
		if err != nil {
			continue
		}
		l.body.Close()
		l.body = body
		_, err = io.CopyN(io.Discard, body, l.read)
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("the log is shorter than before: %w", err) // the node has rotated it
		}
		if err == nil {
			return nil
		}
	}
}

// Close ends the connection.
func (l *followedLog) Close() error { return l.body.Close() }
