package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	archivecontroller "github.com/postflight-dev/postflight/controllers/archive"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/kube/podlogs"
)

// shelf is an archive in memory, which a test may close.
type shelf struct {
	mu      sync.Mutex
	closed  error
	logs    map[record.Run]map[string]string // by pod, container, and whether it is the previous one
	written map[string]int                   // how often each log was saved
	records map[string]record.Record         // by id
	order   []string                         // ids
	held    chan struct{}                    // until it is closed, nobody learns which logs there are; nil: at once
}

var _ archivecontroller.Archive = &shelf{}

func newShelf() *shelf {
	return &shelf{logs: map[record.Run]map[string]string{}, written: map[string]int{}, records: map[string]record.Record{}}
}

func (s *shelf) close(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = err
}

func logName(pod, container string, previous bool) string {
	return fmt.Sprintf("%s/%s/%t", pod, container, previous)
}

func (s *shelf) SaveLog(ctx context.Context, r record.Run, pod, container string, previous bool, log io.Reader) (record.Log, error) {
	saved := record.Log{Pod: pod, Container: container, Previous: previous}
	text, err := io.ReadAll(log)
	if ctx.Err() != nil {
		return saved, ctx.Err()
	}
	if saved.Bytes = int64(len(text)); err != nil && len(text) == 0 {
		return saved, nil
	}
	if err != nil {
		saved.Problem, text = record.BrokenLog, append(text, "\n"+record.BrokenMark...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return saved, s.closed
	}
	if s.logs[r] == nil {
		s.logs[r] = map[string]string{}
	}
	s.logs[r][logName(pod, container, previous)] = string(text)
	s.written[logName(pod, container, previous)]++
	return saved, nil
}

// hold makes the store slow until release is called.
func (s *shelf) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(chan struct{})
	s.held = held
	return func() { close(held) }
}

func (s *shelf) Logs(ctx context.Context, r record.Run) (all []record.Log, err error) {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.logs[r])) {
		parts := strings.Split(name, "/")
		all = append(all, record.Log{Pod: parts[0], Container: parts[1], Previous: parts[2] == "true", Bytes: 1})
	}
	return all, s.closed
}

func (s *shelf) OpenLog(_ context.Context, r record.Run, pod, container string, previous bool) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return io.NopCloser(strings.NewReader(s.logs[r][logName(pod, container, previous)])), s.closed
}

func (s *shelf) SaveTests(context.Context, record.Run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Changed is that of the summaries.
func (s *shelf) Changed(string, time.Time) {}

func (s *shelf) SaveRecord(_ context.Context, rec record.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		return s.closed
	}
	if _, again := s.records[rec.ID]; !again {
		s.order = append(s.order, rec.ID)
	}
	s.records[rec.ID] = rec
	return nil
}

// record of a run, and whether there is one.
func (s *shelf) record(id string) (record.Record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec, ok := s.records[id]
	return rec, ok
}

// log is what was saved of a container, and how often.
func (s *shelf) log(pod, container string) (text string, written int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := logName(pod, container, false)
	for _, logs := range s.logs {
		if text, ok := logs[name]; ok {
			return text, s.written[name]
		}
	}
	return "", 0
}

var errClosed = errors.New("it refuses connections")

// archive is that of the manager.
func (w *world) archive() archivecontroller.Config {
	if w.shelf == nil {
		return archivecontroller.Config{}
	}
	logs, err := podlogs.New(w.config)
	w.must(err)
	return archivecontroller.Config{Store: w.shelf, Summaries: w.shelf, Logs: logs}
}

// newArchiveWorld has an archive, and a node whose kubelet is the handler.
func newArchiveWorld(t *testing.T, kubelet http.HandlerFunc) *world {
	t.Helper()
	w := emptyWorld(t)
	w.shelf = newShelf()
	w.node = w.Node(t, kubelet)
	w.tells = toLoopback() // as every manager does, if there is somebody to tell
	w.hasTeam()
	w.create(anEnvironment("staging"), aTrigger("smoke"))
	w.startManager()
	return w
}

// says is a kubelet whose containers have all printed their name.
func says(rw http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(rw, "the log of", r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
}
