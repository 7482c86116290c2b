package collect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type hook = func(w http.ResponseWriter, r *http.Request, attempt int) bool

// status answers with a code, for the first attempts only if n is positive.
func status(code, n int) hook {
	return func(w http.ResponseWriter, _ *http.Request, attempt int) bool {
		if n > 0 && attempt > n {
			return false
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"failureMessage":"The run has ended."}`)
		return true
	}
}

// hang reads nothing and answers nothing for longer than any test takes. A server does not see that its client goes
// while it does not read.
func hang(_ http.ResponseWriter, r *http.Request, _ int) bool {
	<-r.Context().Value(endOfTest{}).(context.Context).Done()
	return true
}

// closed drops the connection after some bytes, for the first attempts.
func closed(attempts int) hook {
	return func(w http.ResponseWriter, r *http.Request, attempt int) bool {
		if attempt > attempts || r.Method != http.MethodPut {
			return false
		}
		_, _ = io.CopyN(io.Discard, r.Body, 1000)
		panic(http.ErrAbortHandler)
	}
}

func body(text string) hook {
	return func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		_, _ = io.WriteString(w, text)
		return true
	}
}

// TestLaterRequestFails: the list of failed tests is kept, although some files are not.
func TestLaterRequestFails(t *testing.T) {
	w := newWorld(t)
	for i := range 900 { // whose names need two requests
		w.write(fmt.Sprintf("%s/%03d.txt", strings.Repeat("x", 240), i), "x")
	}
	w.manager = func(rw http.ResponseWriter, r *http.Request, attempt int) bool {
		return attempt == 2 && status(http.StatusBadRequest, 0)(rw, r, attempt)
	}
	s := w.collect()
	if w.document == nil || int(s.Files) != len(w.document.Files) || !strings.Contains(s.Problem, "answered 400") {
		t.Errorf("%d files were kept: %s; the document is %+v", s.Files, s.Problem, w.document)
	}
}

// TestManagerFails: the counts are there whatever the manager does, and the problem says what it did.
func TestManagerFails(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		manager hook
		problem string // empty: everything is kept
		long    bool   // takes all patience
	}{
		"Errors that pass":  {"They are repeated.", status(503, 2), "", false},
		"Too many requests": {"They are repeated.", status(429, 1), "", false},
		"Errors for ever": {"After a while, it gives up.", status(500, 0),
			"Postflight answered 500 Internal Server Error (The run has ended)", true},
		"Hanging": {"After a while, it gives up.", hang, "Postflight did not answer in time", true},
		"Not authorized": {"Another attempt does not help.", status(401, 0), "Postflight answered 401 Unauthorized (The run has ended)",
			false},
		"No such run": {"Another attempt does not help.", status(404, 0), "Postflight answered 404 Not Found (The run has ended)", false},
		"A redirect":  {"The token is for the manager alone.", status(307, 0), "Postflight answered 307 Temporary Redirect", false},
		"No JSON":     {"A proxy may answer anything.", body("<html>"), "Postflight sent an answer that could not be read", true},
		"Another answer": {"It must be for these files.", body(`{"run":"r","files":[{"path":"other","url":"http://127.0.0.1/"}]}`),
			"Postflight did not answer for the files that it was asked for", false},
		"An answer too short": {"It must be for these files.", body(`{"run":"r"}`),
			"Postflight did not answer for the files that it was asked for", false},
		"No URL": {"Nothing is requested.", body(`{"run":"r","files":[{"path":"junit.xml"},{"path":"a.png"}]}`),
			"Postflight gave no URL to upload to", false},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				w.manager = tc.manager
				w.write("junit.xml", report(1))
				w.write("a.png", "a")
				begin := time.Now()
				s := w.collect()
				took := time.Since(begin)
				if s.Tests != 120 || s.Failed != 1 || (s.Files == 2) != (tc.problem == "") || !strings.Contains(s.Problem, tc.problem) ||
					(s.Problem == "") != (tc.problem == "") {
					t.Errorf("%s\n%+v\n%s", tc.reason, s, &w.log)
				}
				if took > patience || (took == patience) != tc.long {
					t.Errorf("%s\nIt took %s.", tc.reason, took)
				}
			})
		})
	}
}

func TestManagerAway(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.collector.Manager = "http://127.0.0.1:1"
		w.write("junit.xml", report(1))
		if s := w.collect(); s.Problem != "junit.xml was not kept: Postflight could not be reached: connection refused." || s.Failed != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestTokenIsReplaced(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.write("a", "a")
		w.manager = func(rw http.ResponseWriter, r *http.Request, attempt int) bool {
			if attempt == 1 { // the kubelet replaces the token meanwhile
				if err := os.WriteFile(w.collector.TokenFile, []byte(token), 0o600); err != nil {
					t.Error(err)
				}
				return status(503, 1)(rw, r, attempt)
			}
			return false
		}
		if err := os.WriteFile(w.collector.TokenFile, []byte("an older token"), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := w.collect(); s.Files != 1 || s.Problem != "" {
			t.Errorf("%+v", s)
		}
	})
}

func TestTokenIsMissing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.write("a", "a")
		w.collector.TokenFile = filepath.Join(w.dir, "..", "none")
		const want = "a was not kept: Postflight could not be asked: the token of the pod is not readable (no such file or directory)."
		if s := w.collect(); s.Problem != want {
			t.Errorf("%+v", s)
		}
	})
}

// TestStoreFails: one file of many does not spoil the others.
func TestStoreFails(t *testing.T) {
	forOne := func(h hook) hook {
		return func(w http.ResponseWriter, r *http.Request, attempt int) bool {
			return r.URL.Query().Get("path") == "bad" && h(w, r, attempt)
		}
	}
	for name, tc := range map[string]struct {
		reason   string
		store    hook
		files    int32
		problem  string
		document bool
	}{
		"Errors that pass":       {"They are repeated.", status(500, 2), 3, "", true},
		"Connections that break": {"The file is sent again.", closed(2), 3, "", true},
		"One is rejected": {"The others are kept.", forOne(status(403, 0)), 2, "bad was not kept: the store answered 403 Forbidden.",
			true},
		"One fails for ever": {"The others are kept, and the list of tests.", forOne(status(500, 0)),
			2, "bad was not kept: the store answered 500 Internal Server Error.", true},
		"One hangs": {"The others are kept, and the list of tests.", forOne(hang),
			2, "bad was not kept: the store did not answer in time.", true},
		"All fail": {"It gives up.", status(503, 0), 0, "the store answered 503 Service Unavailable", false},
		"All hang": {"It gives up.", hang, 0, "the store did not answer in time", false},
		"The document is refused": {"The files are kept.", func(w http.ResponseWriter, r *http.Request, a int) bool {
			return r.URL.Path == "/results" && status(403, 0)(w, r, a)
		}, 3, "The list of all failed tests was not kept: the store answered 403 Forbidden.", false},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				w.store = tc.store
				w.write("junit.xml", report(1))
				w.write("a.png", strings.Repeat("a", 100_000))
				w.write("bad", strings.Repeat("b", 1_000_000)) // more than the buffers of client and server
				begin := time.Now()
				s := w.collect()
				if s.Files != tc.files || s.Failed != 1 || (s.Problem == "") != (tc.problem == "") || !strings.Contains(s.Problem, tc.problem) ||
					(w.document != nil) != tc.document {
					t.Errorf("%s\n%+v\ndocument %v\n%s", tc.reason, s, w.document != nil, &w.log)
				}
				if took := time.Since(begin); took > 3*patience {
					t.Errorf("It took %s.", took)
				}
			})
		})
	}
}

// TestSlowStore: what moves is no reason to give up.
func TestSlowStore(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.write("video.webm", strings.Repeat("v", 4<<20))
		w.store = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
			if r.URL.Query().Get("path") == "video.webm" {
				var all bytes.Buffer
				for range 6 { // the rest comes at once
					_, _ = io.CopyN(&all, r.Body, 400<<10)
					time.Sleep(patience / 5)
				}
				r.Body = io.NopCloser(io.MultiReader(&all, r.Body))
			}
			return false
		}
		begin := time.Now()
		if s := w.collect(); s.Files != 1 || s.Problem != "" || time.Since(begin) < patience {
			t.Errorf("after %s: %+v", time.Since(begin), s)
		}
	})
}

// TestTimeIsUp: what was done is told, and the list of tests is kept.
func TestTimeIsUp(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.collector.Budget = 4 * time.Second
		w.write("junit.xml", report(1))
		w.write("small", "s")
		w.write("large", strings.Repeat("l", 10<<20))
		w.store = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
			for r.URL.Query().Get("path") == "large" {
				if _, err := io.CopyN(io.Discard, r.Body, 100<<10); err != nil {
					break
				}
				time.Sleep(200 * time.Millisecond)
			}
			return false
		}
		begin := time.Now()
		s := w.collect()
		if took := time.Since(begin); took > w.collector.Budget {
			t.Errorf("it took %s", took)
		}
		if s.Files != 2 || s.Failed != 1 || s.Problem != "large was not kept: the store was too slow for the grace period of the pod." ||
			w.document == nil {
			t.Errorf("%+v\n%s", s, &w.log)
		}
	})
}

func TestRefusedFiles(t *testing.T) {
	w := newWorld(t)
	w.write("a", "a")
	w.write("b", "b")
	w.write("c", "c")
	w.refuse = map[string]string{"a": "The run keeps at most 1,000 files, and has them.",
		"c": "The run keeps at most 1,000 files, and has them."}
	if s := w.collect(); s.Files != 1 || !w.has("b", "b") ||
		s.Problem != "a and 1 more were not kept: The run keeps at most 1,000 files, and has them." {
		t.Errorf("%+v", s)
	}
}

// TestFilesChange: another sidecar may still write.
func TestFilesChange(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(path string) error
		files   int32
		problem string
	}{
		"Gone": {os.Remove, 0, "log was not kept: not readable (no such file or directory)."},
		"Shorter": {func(path string) error { return os.WriteFile(path, []byte("12"), 0o644) },
			0, "log was not kept: changed during the upload."},
		"Longer": {func(path string) error { return os.WriteFile(path, []byte("1234567"), 0o644) }, 0,
			"log was not kept: changed during the upload."},
		"A link": {func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)) },
			0, "log was not kept: not readable."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("log", "12345")
			w.manager = func(_ http.ResponseWriter, _ *http.Request, _ int) bool {
				if err := tc.change(filepath.Join(w.dir, "log")); err != nil && !os.IsNotExist(err) {
					t.Error(err)
				}
				return false
			}
			if s := w.collect(); s.Files != tc.files || s.Problem != tc.problem {
				t.Errorf("%+v", s)
			}
		})
	}
	t.Run("Grows during the upload", func(t *testing.T) {
		w := newWorld(t)
		w.write("log", strings.Repeat("1", 1000))
		w.store = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
			if r.URL.Query().Get("path") == "log" {
				w.write("log", strings.Repeat("1", 2000))
			}
			return false
		}
		if s := w.collect(); s.Files != 1 || s.Bytes != 1000 || !w.has("log", strings.Repeat("1", 1000)) ||
			!strings.HasSuffix(s.Problem, "changed during the upload, and only its beginning was kept.") {
			t.Errorf("%+v", s)
		}
	})
}
