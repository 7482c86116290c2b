package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/test/openapi"
)

// aStore serves one file, in a way of its own for each of the first requests.
type aStore struct {
	content []byte
	faults  []http.HandlerFunc // nil: no fault

	requests []http.Header
}

func (s *aStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, r.Header.Clone())
	var fault http.HandlerFunc
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	if fault != nil {
		fault(w, r)
		return
	}
	w.Header().Set("ETag", `"abc"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.content))
}

// cut sends a part of the body of n bytes.
func (s *aStore) cut(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		full := httptest.NewRecorder()
		full.Header().Set("ETag", `"abc"`)
		http.ServeContent(full, r, "", time.Time{}, bytes.NewReader(s.content))
		for name, values := range full.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(full.Code)
		_, _ = w.Write(full.Body.Bytes()[:n])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestDownload(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 10_000)
	weak := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `W/"abc"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content[:5000])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	store := func(size int, faults ...func(*aStore) http.HandlerFunc) *aStore {
		s := &aStore{content: content[:size]}
		for _, fault := range faults {
			s.faults = append(s.faults, fault(s))
		}
		return s
	}
	answers := func(h http.HandlerFunc) func(*aStore) http.HandlerFunc {
		return func(*aStore) http.HandlerFunc { return h }
	}
	cut := func(n int) func(*aStore) http.HandlerFunc {
		return func(s *aStore) http.HandlerFunc { return s.cut(n) }
	}
	cases := map[string]struct {
		reason string
		store  *aStore
		bytes  int64  // as the server says; 0: as it is
		ranges string // of the requests
		fresh  int    // requests for another URL
		says   string
	}{
		"whole":             {store: store(100_000), ranges: "-"},
		"empty":             {store: store(0), ranges: "-"},
		"cut twice":         {store: store(100_000, cut(30_000), cut(20_000)), ranges: "- bytes=30000- bytes=50000-"},
		"cut at its end":    {reason: "all is there", store: store(100_000, cut(100_000)), ranges: "-"},
		"cut at its begin":  {store: store(100_000, cut(0)), ranges: "- bytes=0-"},
		"cut without a tag": {reason: "nobody knows whether the rest belongs to it", store: store(100_000, answers(weak)), ranges: "- -"},
		"overloaded":        {store: store(100_000, answers(status(503)), answers(status(500))), ranges: "- - -"},
		"an expired URL":    {store: store(100_000, answers(status(403))), ranges: "- -", fresh: 1},
		"expired meanwhile": {store: store(100_000, cut(10), answers(status(403))), ranges: "- bytes=10- bytes=10-", fresh: 1},
		"refused": {store: store(100_000, answers(status(403)), answers(status(403))), ranges: "- -", fresh: 1,
			says: "answered 403 Forbidden"},
		"gone": {store: store(100_000, answers(status(404))), ranges: "-", says: "may have been deleted"},
		"a login page": {store: store(100_000, answers(func(w http.ResponseWriter,
			r *http.Request) {
			http.Redirect(w, r, "/login", http.StatusFound)
		})), ranges: "-", says: "answered 302 Found"},
		"another file": {store: store(100_000, cut(10), answers(status(412))), ranges: "- bytes=10- -"},
		"another file, from a store that ignores If-Match": {store: store(100_000, cut(10), answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"other"`)
			w.Header().Set("Content-Range", "bytes 10-99999/100000")
			_, _ = w.Write(content[10:])
		})), ranges: "- bytes=10- -"},
		"another part of it": {store: store(100_000, cut(10), answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 5-9/10")
			w.WriteHeader(206)
		})), ranges: "- bytes=10-", says: "another part"},
		"larger":  {store: store(100_000), bytes: 10, ranges: "-", says: "sends 100000 bytes or more, and not the 10"},
		"smaller": {store: store(10), bytes: 11, ranges: "-", says: "sends 10 bytes or more, and not the 11"},
		"endless": {store: store(10, answers(func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				_, _ = w.Write(content)
			}
		})), ranges: "-", says: "and not the 10"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fresh := 0
				a := httpapi.Artifact{Path: "a/b.bin", Pod: "p", Bytes: int64(len(tc.store.content)), URL: "http://files/f?X-Amz-Signature=secret"}
				if tc.bytes != 0 {
					a.Bytes = tc.bytes
				}
				c := inMemory(t, map[string]http.Handler{"files": tc.store,
					"server": openapi.Check(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						fresh++
						answer(w, http.StatusOK, httpapi.ArtifactList{Artifacts: []httpapi.Artifact{{Path: "other", Pod: "p", URL: "http://x"}, a}})
					}))})
				dir := t.TempDir()
				root := openRoot(t, dir)
				var seen bytes.Buffer
				destination := client.Destination{Dir: root, Name: "x/y", Progress: &seen}
				err := connect(t, "http://server", client.WithHTTPClient(c), client.WithRetryTimeout(20*time.Second)).Download(t.Context(), "run",
					a, destination)
				if (err != nil) != (tc.says != "") || err != nil && (!strings.Contains(err.Error(), tc.says) ||
					strings.Contains(err.Error(), "secret")) {
					t.Errorf("%s: %v, want %q and no URL", tc.reason, err, tc.says)
				}
				var ranges []string
				for _, h := range tc.store.requests {
					if h.Get("Authorization") != "" {
						t.Error("the store got the API key")
					}
					if ranges = append(ranges, h.Get("Range")); ranges[len(ranges)-1] == "" {
						ranges[len(ranges)-1] = "-"
					}
				}
				if got := strings.Join(ranges, " "); got != tc.ranges || fresh != tc.fresh {
					t.Errorf("%s: requested %q and %d other URLs, want %q and %d", tc.reason, got, fresh, tc.ranges, tc.fresh)
				}
				got, readErr := os.ReadFile(filepath.Join(dir, "x/y"))
				if err == nil && (readErr != nil || !bytes.Equal(got, tc.store.content) || seen.Len() < len(got)) {
					t.Errorf("%s: got %d bytes, %v; progress of %d", tc.reason, len(got), readErr, seen.Len())
				}
				if files, _ := filepath.Glob(filepath.Join(dir, "x", ".*")); len(files) > 0 || err != nil && !errors.Is(readErr, fs.ErrNotExist) {
					t.Errorf("%s: left %q, %v", tc.reason, files, readErr)
				}
			})
		})
	}
}

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// TestDownloadStaysInItsDirectory: names and links lead nowhere else, and nothing is replaced by accident.
func TestDownloadStaysInItsDirectory(t *testing.T) {
	files := httptest.NewServer(&aStore{content: []byte("new")})
	defer files.Close()
	cases := map[string]struct {
		name      string
		overwrite bool
		kept      bool // what was there
		fails     bool
	}{
		"outside":                        {name: "../outside/victim", overwrite: true, kept: true, fails: true},
		"absolute":                       {name: "/outside/victim", overwrite: true, kept: true, fails: true},
		"through a link to a folder":     {name: "folder/victim", overwrite: true, kept: true, fails: true},
		"a link":                         {name: "link", kept: true, fails: true},
		"a link that is replaced itself": {name: "link", overwrite: true, kept: true},
		"a file":                         {name: "file", kept: true, fails: true},
		"a file that is replaced":        {name: "file", overwrite: true},
		"a folder":                       {name: "full", overwrite: true, kept: true, fails: true},
		"below a file":                   {name: "file/x", overwrite: true, kept: true, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			dir := filepath.Join(base, "dir")
			victims := map[string]string{"outside/victim": "old", "dir/file": "old", "dir/full/x": "old"}
			for path, content := range victims {
				path = filepath.Join(base, path)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(os.Symlink("../outside", filepath.Join(dir, "folder")),
				os.Symlink("../outside/victim", filepath.Join(dir, "link"))); err != nil {
				t.Fatal(err)
			}
			a := httpapi.Artifact{Path: "a", Bytes: 3, URL: files.URL}
			err := connect(t, "http://127.0.0.1:1").Download(t.Context(), "run", a,
				client.Destination{Dir: openRoot(t, dir), Name: tc.name, Overwrite: tc.overwrite})
			if (err != nil) != tc.fails {
				t.Errorf("%v, want an error: %t", err, tc.fails)
			}
			kept := true
			for path, content := range victims {
				got, err := os.ReadFile(filepath.Join(base, path))
				kept = kept && err == nil && string(got) == content
			}
			if kept != tc.kept {
				t.Errorf("kept %t, want %t", kept, tc.kept)
			}
		})
	}
}

// hangs sends a part of a file, and then nothing until the request ends; the next time it sends nothing at all.
type hangs struct{ requests int }

func (h *hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	h.requests++
	part := "part"
	if h.requests > 1 {
		part = ""
	}
	resp := respond(r, http.StatusOK, "application/octet-stream", "")
	resp.ContentLength = -1
	resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(part), readFunc(func([]byte) (int, error) {
		<-r.Context().Done()
		return 0, r.Context().Err()
	})))
	return resp, nil
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

func TestDownloadsThatHangEnd(t *testing.T) {
	root := openRoot(t, t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		store, began := &hangs{}, time.Now()
		c := connect(t, "http://x", client.WithHTTPClient(&http.Client{Transport: store}), client.WithRetryTimeout(90*time.Second))
		err := c.Download(t.Context(), "run", httpapi.Artifact{Path: "a", Bytes: 30, URL: "http://store/a?secret"},
			client.Destination{Dir: root, Name: "a"})
		if err == nil || !strings.Contains(err.Error(), "The store at store did not send the whole file (nothing arrives)") {
			t.Error(err)
		}
		if took := time.Since(began); store.requests != 3 || took > 5*time.Minute {
			t.Errorf("%d requests in %s", store.requests, took)
		}
	})
}
