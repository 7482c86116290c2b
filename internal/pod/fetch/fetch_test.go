package fetch_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/pod/fetch"
)

var content = bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB

func md5Of(b []byte) string {
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

// store is a server that records the Range header of each request.
type store struct {
	*httptest.Server
	ranges []string
}

func newStore(t *testing.T, handle func(n int, w http.ResponseWriter, r *http.Request)) *store {
	t.Helper()
	s := &store{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := len(s.ranges)
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		handle(n, w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// serve answers as a correct store does.
func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"`+md5Of(content)+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// cut sends a part of the body and closes the connection.
func cut(w http.ResponseWriter, from, to int) {
	w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
		w.WriteHeader(http.StatusPartialContent)
	}
	_, _ = w.Write(content[from:to])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func (s *store) file() job.File {
	return job.File{Path: "builds/app.apk", URL: s.URL + "/?X-Amz-Signature=secret", ETag: md5Of(content), Size: int64(len(content))}
}

// patience is enough for some pauses between attempts.
const patience = 4 * time.Second

func run(t *testing.T, dir string, files ...job.File) (log string, err error) {
	t.Helper()
	client, err := fetch.NewClient("")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	f := fetch.Fetcher{Client: client, Patience: patience, Log: slog.New(slog.NewTextHandler(&out, nil))}
	err = f.Fetch(t.Context(), fetch.List{Directory: dir, Files: files})
	if text := out.String() + fmt.Sprint(err); strings.Contains(text, "secret") || strings.Contains(text, "127.0.0.1") {
		t.Errorf("the signed URL shows: %s", text)
	}
	return out.String(), err
}

func check(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "builds", "app.apk")
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes, %v; want the %d of the store", len(got), err, len(content))
	}
	for path, want := range map[string]fs.FileMode{path: 0o644, filepath.Dir(path): 0o755} {
		if info, _ := os.Stat(path); info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "builds", "*.partial")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestFetch(t *testing.T) {
	half := len(content) / 2
	for name, tc := range map[string]struct {
		reason string
		handle func(n int, w http.ResponseWriter, r *http.Request)
		ranges []string
	}{
		"first attempt succeeds": {
			reason: "A correct store needs one request.",
			handle: func(_ int, w http.ResponseWriter, r *http.Request) { serve(w, r) },
			ranges: []string{""},
		},
		"connection is cut twice": {
			reason: "Bytes that were received are not requested again.",
			handle: func(n int, w http.ResponseWriter, r *http.Request) {
				switch n {
				case 0:
					cut(w, 0, half)
				case 1:
					cut(w, half, half+1000)
				default:
					serve(w, r)
				}
			},
			ranges: []string{"", fmt.Sprintf("bytes=%d-", half), fmt.Sprintf("bytes=%d-", half+1000)},
		},
		"store sends a range with status 200": {
			reason: "rclone does; the bytes continue the file.",
			handle: func(n int, w http.ResponseWriter, _ *http.Request) {
				if n == 0 {
					cut(w, 0, half)
				}
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", half, len(content)-1, len(content)))
				_, _ = w.Write(content[half:])
			},
			ranges: []string{"", fmt.Sprintf("bytes=%d-", half)},
		},
		"store ignores ranges": {
			reason: "The file starts anew if the store sends all of it.",
			handle: func(n int, w http.ResponseWriter, _ *http.Request) {
				if n == 0 {
					cut(w, 0, half)
				}
				_, _ = w.Write(content)
			},
			ranges: []string{"", fmt.Sprintf("bytes=%d-", half)},
		},
		"store is overloaded": {
			reason: "Overload is temporary, so the request is retried.",
			handle: func(n int, w http.ResponseWriter, r *http.Request) {
				if n < 3 {
					w.WriteHeader([]int{500, 502, 503}[n])
					return
				}
				serve(w, r)
			},
			ranges: []string{"", "", "", ""},
		},
		"store wants less": {
			reason: "It is busy with others, and will not be for long.",
			handle: func(n int, w http.ResponseWriter, r *http.Request) {
				if n < 2 {
					w.WriteHeader([]int{429, 408}[n])
					return
				}
				serve(w, r)
			},
			ranges: []string{"", "", ""},
		},
		"checksum is wrong once": {
			reason: "The file may have been damaged in transit.",
			handle: func(n int, w http.ResponseWriter, r *http.Request) {
				if n == 0 {
					_, _ = w.Write(bytes.Repeat([]byte("x"), len(content)))
					return
				}
				serve(w, r)
			},
			ranges: []string{"", ""},
		},
		"store sends another part": {
			reason: "A part that was not requested is not appended.",
			handle: func(n int, w http.ResponseWriter, r *http.Request) {
				switch n {
				case 0:
					cut(w, 0, half)
				case 1:
					w.Header().Set("Content-Range", fmt.Sprintf("bytes 1-%d/%d", len(content)-1, len(content)))
					w.WriteHeader(http.StatusPartialContent)
					_, _ = w.Write(content[1:])
				default:
					serve(w, r)
				}
			},
			ranges: []string{"", fmt.Sprintf("bytes=%d-", half), ""},
		},
		"object is encrypted with a KMS key": {
			reason: "Then the ETag is not a checksum.",
			handle: func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Amz-Server-Side-Encryption", "aws:kms")
				_, _ = w.Write(content)
			},
			ranges: []string{""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newStore(t, tc.handle), t.TempDir()
			if _, err := run(t, dir, s.file()); err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			check(t, dir)
			if diff := cmp.Diff(tc.ranges, s.ranges); diff != "" {
				t.Errorf("%s\nRange of the requests (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFetchFails(t *testing.T) {
	answer := func(status int, body string) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, tc := range map[string]struct {
		reason string
		handle func(int, http.ResponseWriter, *http.Request)
		change func(*job.File)
		kind   fetch.Kind
		want   string
	}{
		"object was deleted":  {"Only a new upload helps.", answer(404, ""), nil, fetch.Missing, "is no longer in the store"},
		"object was replaced": {"If-Match fails.", answer(412, ""), nil, fetch.Changed, "was replaced"},
		"signature has expired": {"Retries do not help.", answer(403, "<Error><Code>AccessDenied</Code><Message>secret</Message></Error>"),
			nil, fetch.Unavailable, "403 AccessDenied"},
		"store redirects": {"The signature is meant for this store only.", answer(307, ""), nil, fetch.Unavailable, "307"},
		"store stays overloaded": {"Retries end with the patience.", answer(503, "<Error><Code>SlowDown</Code></Error>"), nil, fetch.Unavailable,
			"503 SlowDown"},
		"checksum is wrong twice": {"The object itself must be damaged.", answer(200, strings.Repeat("x", len(content))), nil, fetch.Changed,
			"checksum"},
		"object is too long": {"It is not the object that was recorded.", answer(200, strings.Repeat("x", 2*len(content))),
			nil, fetch.Changed, "bytes"},
		"ETag differs": {"Some stores ignore If-Match.", func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"other"`)
			_, _ = w.Write(content)
		}, nil, fetch.Changed, "was replaced"},
		"path has ..": {"No path may lead out of the directory.", answer(200, ""), func(f *job.File) { f.Path = "../app.apk" }, fetch.Local,
			"cannot be written"},
		"path is absolute": {"No path may lead out of the directory.", answer(200, ""), func(f *job.File) { f.Path = "/tmp/app.apk" },
			fetch.Local, "cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newStore(t, tc.handle), t.TempDir()
			file := s.file()
			if tc.change != nil {
				tc.change(&file)
			}
			_, err := run(t, dir, file)
			if err == nil || fetch.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "app.apk") {
				t.Errorf("%s\n%v (%d), want %q (%d)", tc.reason, err, fetch.KindOf(err), tc.want, tc.kind)
			}
			if _, err := os.Stat(filepath.Join(dir, file.Path)); err == nil {
				t.Error("the file is there")
			}
		})
	}
}

// TestGivesUp: it tries until the next attempt would come after its patience.
func TestGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := fetch.NewClient("")
		f := fetch.Fetcher{Client: client, Patience: time.Minute, Log: slog.New(slog.DiscardHandler)}
		began := time.Now()
		err := f.Fetch(t.Context(), fetch.List{Directory: t.TempDir(), Files: []job.File{{Path: "app.apk", URL: "http://127.0.0.1:1/"}}})
		if fetch.KindOf(err) != fetch.Unavailable || !strings.Contains(err.Error(), "refuses connections") {
			t.Error(err)
		}
		if took := time.Since(began); took < f.Patience/2 || took > f.Patience {
			t.Errorf("it gave up after %s", took)
		}
	})
}

// TestResume: what a killed container downloaded is not downloaded again.
func TestResume(t *testing.T) {
	s, dir := newStore(t, func(_ int, w http.ResponseWriter, r *http.Request) { serve(w, r) }), t.TempDir()
	left := len(content) / 3
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "builds"), 0o700),
		os.WriteFile(filepath.Join(dir, "builds", "app.apk.partial"), content[:left], 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "builds"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, dir, s.file()); err != nil {
		t.Fatal(err)
	}
	check(t, dir)
	if diff := cmp.Diff([]string{fmt.Sprintf("bytes=%d-", left)}, s.ranges); diff != "" {
		t.Error(diff)
	}
}

// TestNoLinkLeadsOut: others who write into the directory cannot make the download write elsewhere.
func TestNoLinkLeadsOut(t *testing.T) {
	for name, link := range map[string]string{"folder is a link": "builds", "file is a link": "builds/app.apk.partial"} {
		t.Run(name, func(t *testing.T) {
			s, dir, outside := newStore(t, func(_ int, w http.ResponseWriter, r *http.Request) { serve(w, r) }), t.TempDir(), t.TempDir()
			path := filepath.Join(dir, link)
			target := outside
			if name == "file is a link" {
				target = filepath.Join(outside, "victim")
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)); err != nil {
				t.Fatal(err)
			}
			if _, err := run(t, dir, s.file()); fetch.KindOf(err) != fetch.Local || err == nil {
				t.Errorf("%v, want a refusal", err)
			}
			if entries, _ := os.ReadDir(outside); len(entries) > 0 {
				t.Errorf("written outside: %v", entries)
			}
		})
	}
}
