package ready_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/pod/ready"
)

var (
	oldCommit = "b776998a" + strings.Repeat("0", 32)
	newCommit = "9c1d2e3f" + strings.Repeat("0", 32)
)

// clock moves on only in Sleep.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// answer is what a server says to its nth request, from 1.
type answer func(n int, w http.ResponseWriter, r *http.Request)

func says(commit string) answer {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"build": {"commit": %q}}`, commit)
	}
}

func status(code int) answer {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func text(s string) answer {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
}

// from the nth request on, another answer.
func from(n int, before, then answer) answer {
	return func(i int, w http.ResponseWriter, r *http.Request) {
		if i < n {
			before(i, w, r)
		} else {
			then(i, w, r)
		}
	}
}

// TestWait asks real servers for at most a minute, every two seconds, until three answers in a row are right.
func TestWait(t *testing.T) {
	flapping := func(i int, w http.ResponseWriter, r *http.Request) {
		if i%3 == 0 {
			says(oldCommit)(i, w, r)
		} else {
			says(newCommit)(i, w, r)
		}
	}
	redirects := func(times int) answer {
		return func(i int, w http.ResponseWriter, r *http.Request) {
			if hop := len(r.URL.Query().Get("hop")); hop < times {
				http.Redirect(w, r, "/version?hop="+strings.Repeat("x", hop+1), http.StatusFound)
				return
			}
			says(newCommit)(i, w, r)
		}
	}
	broken := func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"build"`)
	}
	for name, tc := range map[string]struct {
		reason string
		answer answer
		change func(*ready.Probe)
		want   string // what it says about the URL at its end; empty: the version is there
		asked  int    // how often, at least; 0: any
	}{
		"right at once": {reason: "Three answers are needed.", answer: says(newCommit), asked: 3},
		"after a while": {reason: "The rollout takes a while.", answer: from(8, says(oldCommit), says(newCommit)), asked: 10},
		"shortened":     {reason: "Servers say it as Git does.", answer: says("9c1d2e3")},
		"a number": {
			reason: "A commit may have only digits.", answer: text(`{"build": {"commit": 1234567}}`),
			change: func(p *ready.Probe) { p.SHA = "1234567" + strings.Repeat("0", 33) },
		},
		"too short": {
			reason: "Six digits may be a version.", answer: says("9c1d2e"), want: `said "9c1d2e" instead of 9c1d2e3f, for 1m.`,
		},
		"the old version": {
			reason: "It says what is there instead.", answer: says(oldCommit), want: `said "b776998a" instead of 9c1d2e3f, for 1m.`, asked: 30,
		},
		"a wrong status": {
			reason: "Its body does not count.",
			answer: func(i int, w http.ResponseWriter, r *http.Request) { w.WriteHeader(503); says(newCommit)(i, w, r) },
			want:   "answered with status 503 instead of 200, for 1m.",
		},
		"a wanted status": {
			reason: "Some servers want a login.", answer: status(401), change: func(p *ready.Probe) { p.Status, p.Pointer = 401, "" },
		},
		"unavailable at first": {reason: "Nothing that comes before counts.", answer: from(4, status(503), says(newCommit)), asked: 6},
		"flapping": {
			reason: "Old pods still serve.", answer: flapping,
			want: `was right at most 2 times in a row within 1m, and has to be 3 times. In between, it said "b776998a" instead of 9c1d2e3f.`,
		},
		"too late": {
			reason: "The time was too short to be sure.", answer: from(31, says(oldCommit), says(newCommit)),
			want: `was right at most 1 time in a row within 1m, and has to be 3 times. In between, it said "b776998a" instead of 9c1d2e3f.`,
		},
		"too few in the time": {
			reason: "The Trigger wants more than fit.", answer: says(newCommit), change: func(p *ready.Probe) { p.Successes = 100 },
			want: "was right only 31 times in a row within 1m, and has to be 100 times.",
		},
		"a huge answer": {
			reason: "Memory is bounded.",
			answer: func(_ int, w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20)) },
			want:   "answered with more than 64.0 KiB, for 1m.",
		},
		"a full answer": {
			reason: "The bound is not too low.",
			answer: text(`{"build": {"commit": "` + newCommit + `"}, "x": "` + strings.Repeat("x", 65_000) + `"}`),
		},
		"no JSON": {
			reason: "A page for people.", answer: text("<!doctype html>\n<p>Hello"),
			want: "answered with HTML instead of JSON, for 1m.",
		},
		"no JSON, and hostile": {
			reason: "Terminals interpret bytes.", answer: text("\x1b[31m"), want: "answered with what is no JSON, for 1m.",
		},
		"an empty answer": {reason: "It is no JSON either.", answer: status(200), want: "answered with nothing instead of JSON, for 1m."},
		"a secret": {reason: "Messages have nothing of a body but the version.", answer: text("the password is hunter2"),
			want: "answered with what is no JSON, for 1m."},
		"an interrupted one": {reason: "The server was stopped.", answer: broken, want: "did not finish its answer: unexpected EOF, for 1m."},
		"another document": {
			reason: "The pointer is wrong.", answer: text(`{"version": "1"}`), want: "has nothing at /build/commit, for 1m.",
		},
		"a document in it": {
			reason: "It is no text.", answer: text(`{"build": {"commit": {"id": 1}}}`),
			want: "has neither a string nor a number at /build/commit, for 1m.",
		},
		"null": {
			reason: "Nobody set it.", answer: text(`{"build": {"commit": null}}`),
			want: "has neither a string nor a number at /build/commit, for 1m.",
		},
		"a header": {
			reason: "Not every server has a document.",
			answer: func(_ int, w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Version", newCommit[:12]) },
			change: func(p *ready.Probe) { p.Pointer, p.Header = "", "X-Version" },
		},
		"another header": {
			reason: "It says what is there instead.",
			answer: func(_ int, w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Version", "v1.2.3") },
			change: func(p *ready.Probe) { p.Pointer, p.Header = "", "X-Version" }, want: `said "v1.2.3" instead of 9c1d2e3f, for 1m.`,
		},
		"no header": {
			reason: "The server does not know its version.", answer: says(newCommit),
			change: func(p *ready.Probe) { p.Pointer, p.Header = "", "X-Version" }, want: "has no header X-Version, for 1m.",
		},
		"any version":     {reason: "The notification named no commit.", answer: says(oldCommit), change: func(p *ready.Probe) { p.SHA = "" }},
		"redirected":      {reason: "Servers redirect to another path.", answer: redirects(5)},
		"a redirect loop": {reason: "It has an end.", answer: redirects(99), want: "redirects more than 5 times, for 1m."},
		"hanging": {
			reason: "A request has an end.", want: "did not answer: it took longer than 10s, for 1m.",
			answer: func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			change: func(p *ready.Probe) {
				p.Client.Timeout, p.Timeout, p.Interval = 10*time.Millisecond, time.Minute, 30*time.Second
			},
		},
		"hanging at first": {
			reason: "A server that starts is waited for.", asked: 4,
			answer: from(2, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, says(newCommit)),
			change: func(p *ready.Probe) { p.Client.Timeout = 500 * time.Millisecond },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { tc.answer(int(asked.Add(1)), w, r) }))
			defer server.Close()
			p := aProbe(t, server.URL)
			if tc.change != nil {
				tc.change(p)
			}
			err := p.Wait(t.Context())
			check(t, err, server.URL+"/version", tc.want, tc.reason)
			if n := int(asked.Load()); n < tc.asked {
				t.Errorf("it asked %d times, want at least %d", n, tc.asked)
			}
		})
	}
}

func aProbe(t *testing.T, base string) *ready.Probe {
	t.Helper()
	u, err := job.ProbeURL(base, "/version")
	if err != nil {
		t.Fatal(err)
	}
	return &ready.Probe{
		URL: u, SHA: newCommit, Status: 200, Pointer: "/build/commit", Successes: 3, Interval: 2 * time.Second, Timeout: time.Minute,
		Client: ready.NewClient("test/1"), Log: slog.New(slog.DiscardHandler), Clock: &clock{now: time.Unix(0, 0)},
	}
}

func check(t *testing.T, err error, address, want, reason string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s got %v", reason, err)
		}
		return
	}
	late, isLate := errors.AsType[*ready.Error](err)
	if want = address + " " + want; !isLate || late.Text != want {
		t.Errorf("%s got  %v\nwant %s", reason, err, want)
	}
}

// TestNobodyListens at first: the Service has no endpoint yet.
func TestNobodyListens(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	p := aProbe(t, "http://"+address)
	if err := p.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "/version did not answer: ") ||
		!strings.HasSuffix(err.Error(), "connection refused, for 1m.") {
		t.Errorf("got %v", err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { says(newCommit)(1, w, r) }))
	p.Clock = &opening{clock: clock{now: time.Unix(0, 0)}, then: func() {
		if server.Listener, err = net.Listen("tcp", address); err != nil {
			t.Error(err)
			return
		}
		server.Start()
		t.Cleanup(server.Close)
	}}
	if err := p.Wait(t.Context()); err != nil {
		t.Errorf("once somebody listens: %v", err)
	}
}

// opening is a clock that does something when it is used first.
type opening struct {
	clock
	then func()
}

func (o *opening) Sleep(ctx context.Context, d time.Duration) error {
	if o.then != nil {
		o.then()
		o.then = nil
	}
	return o.clock.Sleep(ctx, d)
}

// TestStopped: the container ends with its run.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() }))
	defer server.Close()
	if err := aProbe(t, server.URL).Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestRequest: it has no credentials, even if the URL does, and opens a connection each time.
func TestRequest(t *testing.T) {
	connections := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections[r.RemoteAddr] = true
		if _, _, given := r.BasicAuth(); given || r.Header.Get("Cookie") != "" || r.Header.Get("Referer") != "" || r.UserAgent() != "test/1" ||
			r.Method != http.MethodGet {
			t.Errorf("%s with %v", r.Method, r.Header)
		}
		if r.URL.Path == "/version" {
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, "http://anna:secret@"+r.Host+"/there", http.StatusFound)
			return
		}
		says(newCommit)(1, w, r)
	}))
	defer server.Close()
	var lines bytes.Buffer
	p := aProbe(t, strings.Replace(server.URL, "http://", "http://ben:secret@", 1))
	p.Log = slog.New(slog.NewTextHandler(&lines, nil))
	if err := p.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if len(connections) != 6 || strings.Contains(lines.String(), "secret") || !strings.Contains(lines.String(), "is right 2 of 3 times") {
		t.Errorf("%d connections, and the log\n%s", len(connections), &lines)
	}
}

// TestRedirectElsewhere: an application cannot make the pod ask another server, and show what that says.
func TestRedirectElsewhere(t *testing.T) {
	var asked atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"build": {"commit": "the password is hunter2"}}`)
	}))
	defer inside.Close()
	elsewhere := strings.Replace(inside.URL, "127.0.0.1", "localhost", 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+"/secret", http.StatusFound)
	}))
	defer server.Close()
	err := aProbe(t, server.URL).Wait(t.Context())
	check(t, err, server.URL+"/version", "redirects to another host, localhost, which is not asked, for 1m.",
		"Only the host of the Trigger is asked.")
	if n := asked.Load(); n != 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// TestRedirectToAnotherPort of the same host, as from http to https.
func TestRedirectToAnotherPort(t *testing.T) {
	https := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { says(newCommit)(1, w, r) }))
	defer https.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, https.URL, http.StatusMovedPermanently)
	}))
	defer server.Close()
	if err := aProbe(t, server.URL).Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCertificates are checked.
func TestCertificates(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { says(newCommit)(1, w, r) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	if err := aProbe(t, server.URL).Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}
