package collect_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/pod/collect"
	"github.com/postflight-dev/postflight/test/poll"
)

const (
	token     = "the-token-of-the-pod"
	bodyLimit = 512 << 10 // of the manager
)

// world is a directory, a manager and a store. Both check what they receive, as the real ones do.
type world struct {
	t         *testing.T
	dir       string
	collector *collect.Collector

	// A hook answers instead of the manager or the store, unless it returns false.
	manager func(w http.ResponseWriter, r *http.Request, attempt int) bool
	store   func(w http.ResponseWriter, r *http.Request, attempt int) bool
	refuse  map[string]string // path -> problem that the manager has with it
	before  map[string]string // documents of the previous run, by path

	mu       sync.Mutex
	objects  map[string][sha256.Size]byte // path -> what was uploaded
	order    []string                     // paths, as they were uploaded
	document *results.Document
	tests    *history.PodTests
	asked    int // requests to the manager
	attempts map[string]int
	reports  []results.Summary
	log      strings.Builder
}

// newWorld has all the time that a busy machine takes.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, func(t *testing.T) net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
}

func newWorldOn(t *testing.T, listen func(*testing.T) net.Listener) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), objects: map[string][sha256.Size]byte{}, attempts: map[string]int{}, refuse: map[string]string{}}
	store := serve(t, listen(t), w.serveStore)
	manager := serve(t, listen(t), func(rw http.ResponseWriter, r *http.Request) { w.serveManager(rw, r, store) })
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.collector = &collect.Collector{
		Client: &http.Client{}, Manager: manager + "/", TokenFile: tokenFile, Directory: w.dir,
		Started: time.Now(), Budget: 2 * poll.Limit, Patience: poll.Limit,
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Report: func(s results.Summary) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.reports = append(w.reports, s)
		},
	}
	return w
}

// endOfTest is the key of a context that ends with the test.
type endOfTest struct{}

func serve(t *testing.T, l net.Listener, handler http.HandlerFunc) string {
	t.Helper()
	s := &http.Server{Handler: handler, BaseContext: func(net.Listener) context.Context {
		return context.WithValue(context.Background(), endOfTest{}, t.Context())
	}}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() }) // after the end of the test's context
	return "http://" + l.Addr().String()
}

func (w *world) serveManager(rw http.ResponseWriter, r *http.Request, store string) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	w.asked++
	attempt := w.asked
	w.mu.Unlock()
	if w.manager != nil && w.manager(rw, r, attempt) {
		return
	}
	var request httpapi.CollectRequest
	err := json.Unmarshal(body, &request)
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/api/v0/collect" || r.Header.Get("Content-Type") != "application/json":
		http.Error(rw, "no such request", http.StatusNotFound)
		return
	case r.Header.Get("Authorization") != "Bearer "+token:
		http.Error(rw, "no such token", http.StatusUnauthorized)
		return
	case err != nil || len(body) > bodyLimit || len(request.Files) > 1000:
		http.Error(rw, "bad request", http.StatusBadRequest)
		return
	}
	answer := httpapi.CollectAnswer{Run: "smoke-2"}
	sign := func(kind, path string, size int64) string {
		return fmt.Sprintf("%s/%s?%s", store, kind, url.Values{"path": {path}, "bytes": {strconv.FormatInt(size, 10)},
			"signature": {"secret"}}.Encode())
	}
	for _, f := range request.Files {
		u := httpapi.CollectURL{Path: f.Path, URL: sign("artifact", f.Path, f.Bytes)}
		if problem := w.refuse[f.Path]; problem != "" {
			u = httpapi.CollectURL{Path: f.Path, Problem: problem}
		}
		answer.Files = append(answer.Files, u)
	}
	if request.ResultsBytes > 0 {
		answer.Results = &httpapi.CollectURL{URL: sign("results", "", request.ResultsBytes)}
		answer.Tests = &httpapi.CollectURL{URL: sign("tests", "", request.TestsBytes)}
	} else if w.before != nil {
		answer.Previous = &httpapi.PreviousResults{Run: "smoke-1"}
		for path := range w.before {
			answer.Previous.URLs = append(answer.Previous.URLs, sign("before", path, 0))
		}
	}
	_ = json.NewEncoder(rw).Encode(answer)
}

func (w *world) serveStore(rw http.ResponseWriter, r *http.Request) {
	path := r.URL.Query().Get("path")
	w.mu.Lock()
	w.attempts[path]++
	attempt := w.attempts[path]
	w.mu.Unlock()
	if w.store != nil && w.store(rw, r, attempt) {
		return
	}
	if r.Method == http.MethodGet {
		if content, ok := w.before[path]; ok && content != "" {
			_, _ = io.WriteString(rw, content)
			return
		}
		http.Error(rw, "none", http.StatusNotFound)
		return
	}
	if r.Method != http.MethodPut || r.Header.Get("Content-Type") != "application/octet-stream" || r.Header.Get("Authorization") != "" ||
		strconv.FormatInt(r.ContentLength, 10) != r.URL.Query().Get("bytes") || r.URL.Query().Get("signature") != "secret" {
		http.Error(rw, "SignatureDoesNotMatch", http.StatusForbidden)
		return
	}
	sum, content := sha256.New(), strings.Builder{}
	into := io.Writer(sum)
	if r.URL.Path == "/results" || r.URL.Path == "/tests" {
		into = &content
	}
	if n, err := io.Copy(into, r.Body); err != nil || n != r.ContentLength {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.URL.Path == "/results" {
		d, err := results.ParseDocument([]byte(content.String()))
		if err != nil {
			w.t.Error(err)
		}
		w.document = &d
		return
	}
	if r.URL.Path == "/tests" {
		p, err := history.ReadPod("pod", strings.NewReader(content.String()), history.NewRoom())
		if err != nil {
			w.t.Error(err)
		}
		w.tests = &p
		return
	}
	w.objects[path] = [sha256.Size]byte(sum.Sum(nil))
	w.order = append(w.order, path)
}

func (w *world) write(path, content string) {
	w.t.Helper()
	name := filepath.Join(w.dir, path)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// sparse is a file of zeros that needs no disk.
func (w *world) sparse(path string, size int64) {
	w.t.Helper()
	w.write(path, "")
	if err := os.Truncate(filepath.Join(w.dir, path), size); err != nil {
		w.t.Fatal(err)
	}
}

// collect returns the last summary, as the leader reads it.
func (w *world) collect() results.Summary {
	w.t.Helper()
	w.collector.Collect(context.Background())
	if strings.Contains(w.log.String(), "secret") || strings.Contains(w.log.String(), token) {
		w.t.Errorf("a secret is in the log:\n%s", &w.log)
	}
	s, ok := results.ParseMessage(results.Message(w.reports[len(w.reports)-1]))
	if !ok || strings.Contains(s.Problem, "127.0.0.1") {
		w.t.Errorf("not fit for a status: %v, %q", ok, s.Problem)
	}
	return s
}

func (w *world) has(path, content string) bool {
	return w.objects[path] == sha256.Sum256([]byte(content))
}
