package upload

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/test/clitest"
	"github.com/postflight-dev/postflight/test/poll"
)

// aStore answers uploads with the given status codes, one after the other, and then with 200.
type aStore struct {
	statuses []int
	etag     func(body []byte) string
	header   [2]string // of the answer to a good upload
	signed   int
	asked    string // for the latest URL
	got      []byte
}

func (s *aStore) start(t *testing.T) *client.Client {
	t.Helper()
	return clitest.Connect(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			s.put(t, w, r)
			return
		}
		s.signed++
		s.asked = r.URL.Path
		file := r.URL.Query().Get("file")
		clitest.Reply(w, http.StatusOK, map[string]string{
			"fileLocation": "acme/" + file, "playgroundFileLocation": file, "signedUrl": "http://" + r.Host + "/put?X-Amz-Signature=secret",
		})
	})
}

func (s *aStore) put(t *testing.T, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	sum := md5.Sum(body)
	if r.Header.Get("Content-Type") != "application/octet-stream" || r.Header.Get("Authorization") != "" || err != nil ||
		r.Header.Get("Content-MD5") != base64.StdEncoding.EncodeToString(sum[:]) {
		t.Errorf("PUT with %v, %v", r.Header, err)
	}
	s.got = body
	if len(s.statuses) > 0 {
		status := s.statuses[0]
		s.statuses = s.statuses[1:]
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Location", "https://sso.example.com/login?token=secret")
		w.WriteHeader(status)
		fmt.Fprint(w, "<Error><Code>SomeCode</Code></Error>")
		return
	}
	if s.header[0] != "" {
		w.Header().Set(s.header[0], s.header[1])
	}
	w.Header().Set("ETag", `"`+s.etag(body)+`"`)
}

// random is the ETag of a store that encrypts with a key of its own: it looks like an MD5 and is none.
func random([]byte) string { return strings.Repeat("0", 32) }

func honest(body []byte) string {
	sum := md5.Sum(body)
	return hex.EncodeToString(sum[:])
}

func TestUpload(t *testing.T) {
	cases := map[string]struct {
		store  aStore
		size   int
		signed int
		code   int
		says   string
	}{
		"good":              {store: aStore{etag: honest}, size: 100_000, signed: 1, says: "Uploaded 100000 bytes, SHA-256"},
		"empty":             {store: aStore{etag: honest}, signed: 1},
		"connection breaks": {store: aStore{etag: honest, statuses: []int{0}}, size: 100, signed: 2, says: "Trying again, 2 of 3"},
		"URL expired":       {store: aStore{etag: honest, statuses: []int{403}}, size: 100, signed: 2},
		"store is away": {store: aStore{etag: honest, statuses: []int{503, 503, 503}}, size: 100, signed: 3, code: 3,
			says: "503 Service Unavailable SomeCode"},
		"refused for good": {store: aStore{etag: honest, statuses: []int{413}}, size: 100, signed: 1, code: 3},
		"redirect": {store: aStore{etag: honest, statuses: []int{302, 302, 302}}, size: 100, signed: 1, code: 3,
			says: "redirects to sso.example.com (302 Found"},
		"redirect by the store": {store: aStore{etag: honest, statuses: []int{307}}, size: 100, signed: 1, code: 3,
			says: "(307 Temporary Redirect SomeCode)"},
		"another checksum": {store: aStore{etag: random}, size: 100, signed: 3, code: 3, says: "something else"},
		"encrypted by the store's key, and damaged": {store: aStore{etag: random, header: [2]string{"X-Amz-Server-Side-Encryption", "AES256"}},
			size: 100, signed: 3, code: 3, says: "something else"},
		"encrypted by a managed key": {store: aStore{etag: random, header: [2]string{"X-Amz-Server-Side-Encryption", "aws:kms"}}, size: 100,
			signed: 1},
		"encrypted by the customer's key": {store: aStore{etag: random, header: [2]string{"X-Amz-Server-Side-Encryption-Customer-Algorithm",
			"AES256"}},
			size: 100, signed: 1},
		"in capitals":      {store: aStore{etag: func(body []byte) string { return strings.ToUpper(honest(body)) }}, size: 100, signed: 1},
		"encrypting store": {store: aStore{etag: func([]byte) string { return "abc-7" }}, size: 100, signed: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "app.apk")
			content := strings.Repeat("x", tc.size)
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			c, out, log := clitest.Console()
			u := &Options{Server: clitest.Server(c, tc.store.start(t)), File: file, As: "builds/7/app.apk", Attempts: 3}
			err := u.Run(t.Context())
			if got := clitest.ExitCode(cli.ExitTroubleError(err)); got != tc.code || tc.store.signed != tc.signed {
				t.Errorf("exit code %d (%v) after %d URLs, want %d after %d", got, err, tc.store.signed, tc.code, tc.signed)
			}
			all := fmt.Sprint(out, log, err)
			if !strings.Contains(all, tc.says) || strings.Contains(all, "secret") {
				t.Errorf("want %q, and no signed URL, in\n%s", tc.says, all)
			}
			if err == nil && (string(tc.store.got) != content || out.String() != "acme/builds/7/app.apk\n") {
				t.Errorf("the store got %d bytes; printed %q", len(tc.store.got), out)
			}
		})
	}
}

// TestUploadToTeamStorage: it asks another route, which takes any extension.
func TestUploadToTeamStorage(t *testing.T) {
	store := aStore{etag: honest}
	c, out, _ := clitest.Console()
	u := &Options{Server: clitest.Server(c, store.start(t)), File: fileOf(t, 10), As: "a.json", TeamStorage: true, Attempts: 1}
	if err := u.Run(t.Context()); err != nil || store.asked != "/api/v0/team-storage-signed-url" || out.String() != "acme/a.json\n" {
		t.Errorf("asked %q, printed %q, %v", store.asked, out, err)
	}
}

// An upload to a store that hangs ends with an error.
func TestUploadToAStoreThatHangs(t *testing.T) {
	const quick, never = 200 * time.Millisecond, time.Hour
	cases := map[string]struct {
		size          int64
		reads         bool
		stall, answer time.Duration
	}{
		"takes nothing":            {size: 64 << 20, stall: quick, answer: never}, // more than fits between the two
		"takes all, and no answer": {size: 1 << 20, reads: true, stall: never, answer: quick},
		"an empty file":            {stall: quick, answer: never},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			store := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if tc.reads {
					_, _ = io.Copy(io.Discard, r.Body)
				}
				<-release
			}))
			defer store.Close()
			defer close(release)
			c, _, _ := clitest.Console()
			u := &Options{Server: clitest.Server(c, signs(t, store.URL)), File: fileOf(t, tc.size), Attempts: 1, StallAfter: tc.stall,
				AnswerAfter: tc.answer}
			clitest.Fails(t, name, u.Run(t.Context()), "does not answer")
		})
	}
}

// A slow store has time as long as it accepts data, twice as long as a store that accepts none. A busy machine may accept none for a
// short time.
func TestUploadToASlowStore(t *testing.T) {
	t.Parallel()
	err := errors.New("not tried")
	for stall := 500 * time.Millisecond; stall < poll.Limit && err != nil; stall *= 8 {
		store := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for n := int64(1); n > 0; time.Sleep(stall / 8) {
				n, _ = io.CopyN(io.Discard, r.Body, 4<<20)
			}
		}))
		c, _, _ := clitest.Console()
		u := &Options{Server: clitest.Server(c, signs(t, store.URL)), File: fileOf(t, 64<<20), Attempts: 1, StallAfter: stall}
		err = u.Run(t.Context())
		store.Close()
	}
	if err != nil {
		t.Error(err)
	}
}

// signs is a server that signs a URL of the store.
func signs(t *testing.T, store string) *client.Client {
	t.Helper()
	return clitest.Connect(t, func(w http.ResponseWriter, _ *http.Request) {
		clitest.Reply(w, http.StatusOK, map[string]string{"fileLocation": "acme/a", "playgroundFileLocation": "a", "signedUrl": store})
	})
}

// fileOf is a file of zeros, which take no room.
func fileOf(t *testing.T, size int64) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "app.apk")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestHashingIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, _, _ := clitest.Console()
	u := &Options{Server: clitest.Server(c, signs(t, "http://127.0.0.1:1")), File: fileOf(t, 1<<40), Attempts: 1} // hours of it
	if err := u.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
