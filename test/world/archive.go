package world

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	announcecontroller "github.com/postflight-dev/postflight/controllers/announce"
	archivecontroller "github.com/postflight-dev/postflight/controllers/archive"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/kube/podlogs"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/webhook"
	"github.com/postflight-dev/postflight/test/build"
)

// ToLoopback lets receivers listen on this machine, and a Slack at slackAPI.
func ToLoopback(slackAPI string) announcecontroller.Config {
	client := outbound.Public([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	return announcecontroller.Config{
		Options: report.Options{PublicURL: "https://ci.example.com"},
		Sender:  webhook.New(client), Chat: webhook.NewSlack(client, slackAPI),
	}
}

// ArchivedAs waits until the condition Archived of a run has a reason, and its message a text.
func (w *World) ArchivedAs(name, reason, message string) *v1alpha1.Suite {
	w.T.Helper()
	return w.SuiteHas(name, v1alpha1.ConditionArchived, reason, message)
}

// Archive is an archive in memory, which a test may close.
type Archive struct {
	Mu      sync.Mutex
	closed  error
	logs    map[record.Run]map[string]string // by pod, container, and whether it is the previous one
	written map[string]int                   // how often each log was saved
	records map[string]record.Record         // by id
	bundles map[record.Run][][]byte          // as they were saved
	Order   []string                         // ids
	held    chan struct{}                    // Logs waits until it is closed; nil: it does not wait
}

var _ archivecontroller.Archive = &Archive{}

// NewArchive is open and empty.
func NewArchive() *Archive {
	return &Archive{logs: map[record.Run]map[string]string{}, written: map[string]int{}, records: map[string]record.Record{}, bundles: map[record.Run][][]byte{}}
}

// Close makes all calls return an error; nil opens the archive.
func (s *Archive) Close(err error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.closed = err
}

func logName(pod, container string, previous bool) string {
	return fmt.Sprintf("%s/%s/%t", pod, container, previous)
}

// SaveLog saves what could be read of a log.
func (s *Archive) SaveLog(ctx context.Context, r record.Run, pod, container string, previous bool, log io.Reader) (record.Log, error) {
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
	s.Mu.Lock()
	defer s.Mu.Unlock()
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

// Hold makes the store slow until release is called.
func (s *Archive) Hold() (release func()) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	held := make(chan struct{})
	s.held = held
	return func() { close(held) }
}

// Logs are those saved of a run.
func (s *Archive) Logs(ctx context.Context, r record.Run) (all []record.Log, err error) {
	s.Mu.Lock()
	held := s.held
	s.Mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.logs[r])) {
		parts := strings.Split(name, "/")
		all = append(all, record.Log{Pod: parts[0], Container: parts[1], Previous: parts[2] == "true", Bytes: 1})
	}
	return all, s.closed
}

// OpenLog reads a log.
func (s *Archive) OpenLog(_ context.Context, r record.Run, pod, container string, previous bool) (io.ReadCloser, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return io.NopCloser(strings.NewReader(s.logs[r][logName(pod, container, previous)])), s.closed
}

// SaveTests saves nothing.
func (s *Archive) SaveTests(context.Context, record.Run) error {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.closed
}

// Tests are not known.
func (s *Archive) Tests(context.Context, record.Run, func(httpapi.Test)) (history.RunHeader, error) {
	return history.RunHeader{}, fs.ErrNotExist
}

// Attestation is the last one that was saved of a run.
func (s *Archive) Attestation(_ context.Context, r record.Run) ([]byte, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	all := s.bundles[r]
	switch {
	case s.closed != nil:
		return nil, s.closed
	case len(all) == 0:
		return nil, fs.ErrNotExist
	default:
		return all[len(all)-1], nil
	}
}

// SaveAttestation remembers all that were saved.
func (s *Archive) SaveAttestation(_ context.Context, r record.Run, bundle []byte) error {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.closed == nil {
		s.bundles[r] = append(s.bundles[r], bundle)
	}
	return s.closed
}

// Bundles are the signed verdicts of a run, as often as they were saved.
func (s *Archive) Bundles(id string) (all [][]byte) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for r, bundles := range s.bundles {
		if r.ID == id {
			all = append(all, bundles...)
		}
	}
	return all
}

// Changed is that of the summaries.
func (s *Archive) Changed(string, time.Time) {}

// SaveRecord replaces the record of a run.
func (s *Archive) SaveRecord(_ context.Context, rec record.Record) error {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.closed != nil {
		return s.closed
	}
	if _, again := s.records[rec.ID]; !again {
		s.Order = append(s.Order, rec.ID)
	}
	s.records[rec.ID] = rec
	return nil
}

// Record of a run, and whether there is one.
func (s *Archive) Record(id string) (record.Record, bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	rec, ok := s.records[id]
	return rec, ok
}

// Log is what was saved of a container, and how often.
func (s *Archive) Log(pod, container string) (text string, written int) {
	return s.log(logName(pod, container, false))
}

// PreviousLog is what was saved of a container from before its restart, and how often.
func (s *Archive) PreviousLog(pod, container string) (text string, written int) {
	return s.log(logName(pod, container, true))
}

func (s *Archive) log(name string) (text string, written int) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for _, logs := range s.logs {
		if text, ok := logs[name]; ok {
			return text, s.written[name]
		}
	}
	return "", 0
}

// archive is that of the manager.
func (w *World) archive() archivecontroller.Config {
	if w.Archive == nil {
		return archivecontroller.Config{}
	}
	logs, err := podlogs.New(w.ManagerConfig)
	w.Must(err)
	return archivecontroller.Config{Store: w.Archive, Summaries: w.Archive, Logs: logs, Signer: w.Signer, PublicURL: "https://ci.example.com"}
}

// WithArchive has an archive, and a node whose kubelet is the handler.
func WithArchive(t *testing.T, kubelet http.HandlerFunc, configure ...func(*World)) *World {
	t.Helper()
	w := Empty(t)
	w.Archive = NewArchive()
	w.NodeName = w.Node(t, kubelet)
	w.Announce = ToLoopback("") // as every manager does, if there are receivers
	for _, c := range configure {
		c(w)
	}
	w.HasTeam()
	w.Create(build.Environment("staging"), build.Trigger("smoke"))
	w.StartManager()
	return w
}

// PrintsName is a kubelet whose containers have all printed their name.
func PrintsName(rw http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(rw, "the log of", r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
}
