package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/poll"
)

// maxBinaryBytes is the promise to those who pull the image.
const maxBinaryBytes = 15_000_000

// newServer is a manager and a store that accept everything, and count requests. They call puts for each file.
func newServer(tb testing.TB, puts ...func()) (url string, requests *atomic.Int32) {
	tb.Helper()
	requests = &atomic.Int32{}
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Method == http.MethodPut {
			_, _ = io.Copy(io.Discard, r.Body)
			for _, put := range puts {
				put()
			}
			return
		}
		var request httpapi.CollectRequest
		_ = json.NewDecoder(r.Body).Decode(&request)
		answer := httpapi.CollectAnswer{Run: "run", Results: &httpapi.CollectURL{URL: s.URL}, Tests: &httpapi.CollectURL{URL: s.URL}}
		for _, f := range request.Files {
			answer.Files = append(answer.Files, httpapi.CollectURL{Path: f.Path, URL: s.URL})
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	tb.Cleanup(s.Close)
	return s.URL, requests
}

// sidecar is the program as a process of its own.
type sidecar struct {
	*exec.Cmd
	dir, message string
	log          *logBuffer
}

// logBuffer is written by a process and read by a test.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func startSidecar(tb testing.TB, program, url string, env ...string) *sidecar {
	tb.Helper()
	s := &sidecar{dir: tb.TempDir(), log: &logBuffer{}}
	outside := tb.TempDir()
	s.message = filepath.Join(outside, "termination-log")
	for name, content := range map[string]string{"termination-log": "", "token": "token"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	s.Cmd = exec.Command(program, "results", "--termination-log", s.message)
	s.Env = append([]string{
		"POSTFLIGHT_TEST_AS_PROGRAM=1", "POSTFLIGHT_COLLECT_URL=" + url, "POSTFLIGHT_COLLECT_TOKEN=" + filepath.Join(outside, "token"),
		"POSTFLIGHT_RESULTS_DIR=" + s.dir, "POSTFLIGHT_COLLECT_BUDGET=30s",
	}, env...)
	s.Stderr = s.log
	if err := s.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Process.Kill() })
	poll.Until(tb, "the sidecar waits for the tests", func() string {
		if log := s.log.String(); !strings.Contains(log, "waiting for the tests") {
			return "its log is: " + log
		}
		return ""
	})
	return s
}

func (s *sidecar) write(tb testing.TB, path, content string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, path), []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// stop is what the kubelet does. The exit code is 0 whatever became of the files.
func (s *sidecar) stop(tb testing.TB, signals ...os.Signal) results.Summary {
	tb.Helper()
	for _, sig := range signals {
		if err := s.Process.Signal(sig); err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.Wait(); err != nil {
		tb.Fatalf("%v\n%s", err, s.log)
	}
	message, err := os.ReadFile(s.message)
	if err != nil {
		tb.Fatal(err)
	}
	summary, ok := results.ParseMessage(string(message))
	if !ok {
		tb.Fatalf("not a message: %q\n%s", message, s.log)
	}
	return summary
}

// peak is the most memory that the program has used so far, in bytes. Its usage after its end would not do: Linux starts that with the
// memory of the process that started it.
func (s *sidecar) peak(tb testing.TB) (bytes int64) {
	tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Process.Pid))
	if err != nil {
		tb.Error(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(after, &bytes); err != nil {
		tb.Error(err)
	}
	return bytes << 10
}

const failedReport = `<testsuite name="s"><testcase name="a"/><testcase name="b"><failure message="m"/></testcase></testsuite>`

// TestSidecar: nothing is read before the tests have stopped, and everything afterwards.
func TestSidecar(t *testing.T) {
	url, requests := newServer(t)
	for _, signals := range [][]os.Signal{{syscall.SIGTERM}, {os.Interrupt}, {syscall.SIGTERM, syscall.SIGTERM, os.Interrupt}} {
		requests.Store(0)
		s := startSidecar(t, os.Args[0], url, "JOB_COMPLETION_INDEX=3")
		if requests.Load() != 0 {
			t.Error("it asks before the tests have stopped")
		}
		s.write(t, "junit.xml", failedReport)
		s.write(t, "trace.zip", "zip")
		if got := s.stop(t, signals...); got.Tests != 2 || got.Failed != 1 || got.Files != 2 || got.Problem != "" {
			t.Errorf("after %s: %+v\n%s", signals, got, s.log)
		}
		if requests.Load() != 6 { // two to the manager, and four files
			t.Errorf("after %s: %d requests", signals, requests.Load())
		}
	}
}

func TestSidecarWithoutManager(t *testing.T) {
	s := startSidecar(t, os.Args[0], "http://127.0.0.1:1", "POSTFLIGHT_COLLECT_BUDGET=3s")
	s.write(t, "junit.xml", failedReport)
	if got := s.stop(t, syscall.SIGTERM); got.Failed != 1 || got.Files != 0 ||
		got.Problem != "junit.xml was not kept: Postflight could not be reached: connection refused." {
		t.Errorf("%+v\n%s", got, s.log)
	}
}

func TestEnvironment(t *testing.T) {
	good := map[string]string{
		"POSTFLIGHT_COLLECT_URL": "http://manager", "POSTFLIGHT_COLLECT_TOKEN": "/token", "POSTFLIGHT_RESULTS_DIR": "/results",
		"POSTFLIGHT_COLLECT_BUDGET": "55s", "JOB_COMPLETION_INDEX": "7", "POSTFLIGHT_COLLECT_MASK": "swordfish\nhunter2",
	}
	c, err := collector(func(name string) string { return good[name] })
	if err != nil || c.Budget != 55*time.Second || c.Index == nil || *c.Index != 7 || c.Secrets.Text("a hunter2") != "a ***" ||
		c.Directory != "/results" {
		t.Errorf("%+v, %v", c, err)
	}
	for name, bad := range map[string]string{
		"POSTFLIGHT_COLLECT_URL": "", "POSTFLIGHT_COLLECT_TOKEN": "", "POSTFLIGHT_RESULTS_DIR": "results",
		"POSTFLIGHT_COLLECT_BUDGET": "-1s", "POSTFLIGHT_COLLECT_CA": "no certificate",
	} {
		_, err := collector(func(asked string) string {
			if asked == name {
				return bad
			}
			return good[asked]
		})
		if err == nil {
			t.Errorf("$%s may be %q", name, bad)
		}
	}
}

// build is the program as it is in the image.
func build(tb testing.TB) (path string, size int64) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "collect")
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, ".")
	command.Env = append(slices.Clone(os.Environ()), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	return path, info.Size()
}

func TestSize(t *testing.T) {
	if _, size := build(t); size > maxBinaryBytes {
		t.Errorf("the program has %d bytes, and may have %d", size, maxBinaryBytes)
	}
}

// BenchmarkCollect uploads 500 files, one of them a report of 100,000 tests, with the program as it is in the image.
func BenchmarkCollect(b *testing.B) {
	const files, tests = 500, 100_000
	program, size := build(b)
	var s *sidecar
	var peak atomic.Int64
	url, _ := newServer(b, func() { peak.Store(s.peak(b)) })
	var report strings.Builder
	report.WriteString(`<testsuites><testsuite name="bench">`)
	for i := range tests {
		fmt.Fprintf(&report, `<testcase classname="tests/checkout.spec.ts" name="checkout > pays with card %d" time="0.125"/>`, i)
	}
	report.WriteString(`</testsuite></testsuites>`)
	begin := time.Now()
	if c := (&results.Tests{}); !c.Add("junit.xml", strings.NewReader(report.String())) || c.Counts.Tests != tests {
		b.Fatalf("%+v", c.Counts)
	}
	reading := time.Since(begin)
	for b.Loop() {
		s = startSidecar(b, program, url)
		s.write(b, "junit.xml", report.String())
		for i := range files - 1 {
			s.write(b, fmt.Sprintf("%03d.png", i), strings.Repeat("x", 100<<10))
		}
		begin := time.Now()
		if got := s.stop(b, syscall.SIGTERM); got.Files != files || got.Problem != "" {
			b.Fatalf("%+v\n%s", got, s.log)
		}
		fmt.Printf("COLLECT binary_bytes=%d tests_per_second=%.0f files=%d seconds=%.2f cpu_seconds=%.2f max_rss_mib=%.1f\n",
			size, tests/reading.Seconds(), files, time.Since(begin).Seconds(),
			(s.ProcessState.UserTime() + s.ProcessState.SystemTime()).Seconds(), float64(peak.Load())/(1<<20))
	}
}
