package pages_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/test/poll"
)

// logs has one log for all runs. Those who follow it wait for more until it is closed.
type logs struct {
	mu   sync.Mutex
	text []byte
	more chan struct{} // closed at the next change

	asked atomic.Int32 // how often somebody lists or opens logs
}

func (l *logs) write(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, text...)
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

func (l *logs) Logs(context.Context, *runs.Run, runs.LogQuery) ([]runs.Log, error) {
	l.asked.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == nil {
		return nil, nil
	}
	return []runs.Log{{Pod: "smoke-x7k2p", Container: "fetch-inputs", Live: true},
		{Pod: "smoke-x7k2p", Container: "tests", OfTests: true, Live: true}}, nil
}

func (l *logs) OpenLog(ctx context.Context, _ *runs.Run, _ runs.Log, _ int) (io.ReadCloser, error) {
	l.asked.Add(1)
	return io.NopCloser(&logReader{l: l, ctx: ctx}), nil
}

func (l *logs) FollowLog(ctx context.Context, _ *runs.Run, _ runs.Log, _ int) io.ReadCloser {
	return io.NopCloser(&logReader{l: l, ctx: ctx, follow: true})
}

// reader reads Suites as the manager does, and the logs and files of all runs from memory, unless there is an archive.
type reader struct {
	*runs.Reader
	logs  *logs
	files *artifacts

	explain func(*runs.Run) (results.Explanation, error) // nil: as the Reader does

	listed atomic.Int32 // how often a page lists the runs
}

// noPods has no logs.
type noPods struct{}

func (noPods) Open(context.Context, string, string, corev1.PodLogOptions) (io.ReadCloser, error) {
	return nil, apierror.ErrLogGone
}

func (r *reader) Newest(namespace string) []*v1alpha1.Suite {
	r.listed.Add(1)
	return r.Reader.Newest(namespace)
}

func (r *reader) HasArchive() bool { return r.Archive != nil || r.files.files != nil }

func (r *reader) Logs(ctx context.Context, run *runs.Run, q runs.LogQuery) ([]runs.Log, error) {
	if r.Archive != nil {
		return r.Reader.Logs(ctx, run, q)
	}
	return r.logs.Logs(ctx, run, q)
}

func (r *reader) OpenLog(ctx context.Context, run *runs.Run, log runs.Log, tail int) (io.ReadCloser, error) {
	if r.Archive != nil {
		return r.Reader.OpenLog(ctx, run, log, tail)
	}
	return r.logs.OpenLog(ctx, run, log, tail)
}

func (r *reader) FollowLog(ctx context.Context, run *runs.Run, log runs.Log, tail int) io.ReadCloser {
	return r.logs.FollowLog(ctx, run, log, tail)
}

func (r *reader) Explain(ctx context.Context, run *runs.Run) (results.Explanation, error) {
	if r.explain != nil {
		return r.explain(run)
	}
	return r.Reader.Explain(ctx, run)
}

func (r *reader) RecentArtifacts(ctx context.Context, run *runs.Run, after string, limit int) ([]record.Artifact, string, error) {
	if r.Archive != nil {
		return r.Reader.RecentArtifacts(ctx, run, after, limit)
	}
	return r.files.list(), "", nil
}

func (r *reader) OpenArtifact(ctx context.Context, run *runs.Run, pod, path string) (record.File, error) {
	if r.Archive != nil {
		return r.Reader.OpenArtifact(ctx, run, pod, path)
	}
	return r.files.open(path)
}

type logReader struct {
	l      *logs
	ctx    context.Context
	follow bool
	at     int
}

func (r *logReader) Read(p []byte) (int, error) {
	for {
		r.l.mu.Lock()
		n := copy(p, r.l.text[r.at:])
		if n == 0 && r.follow && r.l.more == nil {
			r.l.more = make(chan struct{})
		}
		more := r.l.more
		r.l.mu.Unlock()
		r.at += n
		if n > 0 || !r.follow {
			if n == 0 {
				return 0, io.EOF
			}
			return n, nil
		}
		select {
		case <-more:
		case <-r.ctx.Done():
			return 0, io.EOF
		}
	}
}

// artifacts has the same files for all runs.
type artifacts struct {
	files map[string][]byte

	mu    sync.Mutex
	asked []string // paths
}

// told waits until a page among the files asks for a path that contains the text, and returns it.
func (a *artifacts) told(t testing.TB, text string) string {
	t.Helper()
	var found string
	poll.Until(t, "a request for a file that is called "+text, func() string {
		a.mu.Lock()
		defer a.mu.Unlock()
		i := slices.IndexFunc(a.asked, func(path string) bool { return strings.Contains(path, text) })
		if i < 0 {
			return fmt.Sprintf("requests for %q", a.asked)
		}
		found = a.asked[i]
		return ""
	})
	return found
}

func (a *artifacts) list() (all []record.Artifact) {
	for name, content := range a.files {
		pod, path, found := strings.Cut(name, ":")
		if !found {
			pod, path = "smoke-x7k2p", name
		}
		all = append(all, record.Artifact{Path: path, Pod: pod, Bytes: int64(len(content))})
	}
	slices.SortFunc(all, func(a, b record.Artifact) int { return strings.Compare(a.Path, b.Path) })
	return all
}

func (a *artifacts) open(path string) (record.File, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, path)
	content, ok := a.files[path]
	if !ok {
		return record.File{}, fs.ErrNotExist
	}
	return record.File{ReadSeekCloser: readSeekNopCloser{bytes.NewReader(content)}, Modified: time.Unix(1, 0), ETag: `"1"`}, nil
}

type readSeekNopCloser struct{ io.ReadSeeker }

func (readSeekNopCloser) Close() error { return nil }
