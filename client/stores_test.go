package client_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/openapi"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
)

// cutter ends the bodies of the first answers of a store early.
type cutter struct {
	after []int64 // bytes
	seen  []int   // status codes
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Header.Get("Authorization") != "" {
		return resp, err
	}
	if c.seen = append(c.seen, resp.StatusCode); len(c.after) > 0 && resp.StatusCode < 300 {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(resp.Body, c.after[0]), readFunc(func([]byte) (int, error) { return 0, io.ErrUnexpectedEOF })), resp.Body}
		c.after = c.after[1:]
	}
	return resp, nil
}

// TestDownloadFromStores: a file whose URL has expired, and whose connection breaks off twice, comes byte for byte.
func TestDownloadFromStores(t *testing.T) {
	stores.Each(t, func(t *testing.T, s stores.Server) {
		bucket := s.Bucket(t)
		a := &archive.Archive{Bucket: bucket}
		run := record.Run{Team: "acme", ID: "smoke-1", Created: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
		const path = "report/ü b+c%.bin"
		content := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
		put(t, a, run, path, content)
		stale, err := bucket.Sign(t.Context(), objectstore.Request{Method: http.MethodGet, Key: run.ArtifactKey("p", path), Public: true,
			Lifetime: objectstore.MinLifetime})
		if err != nil {
			t.Fatal(err)
		}
		poll.Until(t, "the URL has expired", func() string {
			resp, err := http.Get(stale)
			if err != nil {
				return err.Error()
			}
			defer resp.Body.Close()
			if resp.StatusCode != s.Expired {
				return resp.Status
			}
			return ""
		})
		fresh, err := a.SignArtifact(t.Context(), run, "p", path)
		if err != nil {
			t.Fatal(err)
		}
		file := httpapi.Artifact{Path: path, Pod: "p", Bytes: int64(len(content)), URL: fresh}
		url := serve(t, openapi.Check(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, httpapi.ArtifactList{Artifacts: []httpapi.Artifact{file}})
		})).ServeHTTP)
		cuts := &cutter{after: []int64{500_000, 300_000}}
		c := connect(t, url, client.WithHTTPClient(&http.Client{Transport: cuts}))
		old, dir := file, t.TempDir()
		old.URL = stale
		var arrived bytes.Buffer
		if err := c.Download(t.Context(), run.ID, old, client.Destination{Dir: openRoot(t, dir), Name: "file", Progress: &arrived}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%v: got %d bytes, want %d", err, len(got), len(content))
		}
		if len(cuts.seen) != 4 || cuts.seen[0] != s.Expired || arrived.Len() != len(content) {
			t.Errorf("the store answered %v, and sent %d bytes: want a refusal, and each byte once in three parts", cuts.seen, arrived.Len())
		}
	})
}

func put(t *testing.T, a *archive.Archive, run record.Run, path string, content []byte) {
	t.Helper()
	url, err := a.SignCollect(t.Context(), run, "p", path, int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
}
