package inputs_test

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/pod/fetch"
	"github.com/postflight-dev/postflight/internal/store/inputs"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
)

var demo = &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}

// TestConformance signs, looks up and fetches files with two independent implementations of S3.
func TestConformance(t *testing.T) {
	stores.Each(t, func(t *testing.T, s stores.Server) {
		store := &inputs.Store{Bucket: s.Bucket(t)}
		t.Run("RoundTrip", func(t *testing.T) { roundTrip(t, store) })
		t.Run("Refused", func(t *testing.T) { refused(t, s, store) })
		t.Run("Missing", func(t *testing.T) { missing(t, store) })
		t.Run("Replaced", func(t *testing.T) { replaced(t, store) })
		t.Run("Sized", func(t *testing.T) { sized(t, store) })
		t.Run("Checksums", func(t *testing.T) { checksums(t, store) })
		t.Run("EarlierTeam", func(t *testing.T) { earlierTeam(t, store) })
		t.Run("Stream", func(t *testing.T) { stream(t, s.Name, store) })
	})
}

func put(t *testing.T, url, contentType string, body io.Reader, size int64) int {
	t.Helper()
	return send(t, http.MethodPut, url, contentType, body, size)
}

func send(t *testing.T, method, url, contentType string, body io.Reader, size int64) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = size
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func upload(t *testing.T, store *inputs.Store, path, content string) {
	t.Helper()
	url, _, err := store.SignUpload(t.Context(), "demo", path, -1)
	if err != nil {
		t.Fatal(err)
	}
	if code := put(t, url, "application/octet-stream", strings.NewReader(content), int64(len(content))); code != http.StatusOK {
		t.Fatalf("PUT of %q: %d, want 200", path, code)
	}
}

// recorded is a file as the Job of a run lists it.
func recorded(t *testing.T, store *inputs.Store, path string) job.File {
	t.Helper()
	found, err := store.Stat(t.Context(), demo, path)
	if err != nil {
		t.Fatalf("Stat of %q: %v", path, err)
	}
	url, err := store.SignDownload(t.Context(), "demo", path, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return job.File{Path: path, URL: url, ETag: found.ETag, Size: found.Size}
}

func fetcher(t *testing.T) fetch.Fetcher {
	t.Helper()
	client, err := fetch.NewClient("")
	if err != nil {
		t.Fatal(err)
	}
	return fetch.Fetcher{Client: client, Patience: 5 * time.Second, Log: slog.New(slog.DiscardHandler)}
}

func roundTrip(t *testing.T, store *inputs.Store) {
	for _, path := range []string{
		"app.apk", "builds/2026/app.apk", "my app.apk", "a+b.apk", "100%.apk", "%2e%2e/app.apk", "größe/アプリ.apk",
		"👩\u200d🔬.ipa", "a&b=c?d#e.zip", "semi;colon,comma.csv", `quote"'.pdf`, "~tilde(1)[2]{3}.deb", "@$!*:.aab",
		".../a..b.apk", "App.ApK",
	} {
		t.Run(strings.ReplaceAll(path, "/", "_"), func(t *testing.T) {
			upload(t, store, path, "content of "+path)
			dir := t.TempDir()
			f := fetcher(t)
			if err := f.Fetch(t.Context(), fetch.List{Directory: dir, Files: []job.File{recorded(t, store, path)}}); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
			if err != nil || string(got) != "content of "+path {
				t.Errorf("fetched %q, %v", got, err)
			}
		})
	}
}

// refused: a URL is valid for one key, method and content type, and until it expires.
func refused(t *testing.T, s stores.Server, store *inputs.Store) {
	signed, _, err := store.SignUpload(t.Context(), "demo", "refused.apk", -1)
	if err != nil {
		t.Fatal(err)
	}
	const octets = "application/octet-stream"
	bucket := "/" + s.Options().Bucket
	path := bucket + "/demo/refused.apk"
	for name, tc := range map[string]struct {
		method, url, contentType string
	}{
		"OtherKey":         {http.MethodPut, strings.Replace(signed, path, bucket+"/demo/other.apk", 1), octets},
		"OtherTeam":        {http.MethodPut, strings.Replace(signed, path, bucket+"/other/refused.apk", 1), octets},
		"Longer":           {http.MethodPut, strings.Replace(signed, "X-Amz-Expires=60", "X-Amz-Expires=6000", 1), octets},
		"OtherMethodGet":   {http.MethodGet, signed, octets},
		"OtherMethodDel":   {http.MethodDelete, signed, octets},
		"OtherContentType": {http.MethodPut, signed, "text/html"},
		"WrongSignature":   {http.MethodPut, signed[:len(signed)-4] + "0000", octets},
	} {
		t.Run(name, func(t *testing.T) {
			if code := send(t, tc.method, tc.url, tc.contentType, strings.NewReader("x"), 1); code != http.StatusForbidden {
				t.Errorf("%d, want 403", code)
			}
		})
	}
	t.Run("NoContentType", func(t *testing.T) { // rclone: 400
		if code := put(t, signed, "", strings.NewReader("x"), 1); code != http.StatusForbidden && code != http.StatusBadRequest {
			t.Errorf("%d, want 403 or 400", code)
		}
	})
	t.Run("Expired", func(t *testing.T) {
		brief := s.Options()
		brief.UploadLifetime = time.Second
		short, _, err := (&inputs.Store{Bucket: stores.Open(t, brief)}).SignUpload(t.Context(), "demo", "expired.apk", -1)
		if err != nil {
			t.Fatal(err)
		}
		var code int
		poll.True(t, "the URL expires", func() bool {
			code = put(t, short, octets, strings.NewReader("x"), 1)
			return code != http.StatusOK
		})
		if code != s.Expired {
			t.Errorf("%d, want %d", code, s.Expired)
		}
	})
	if _, err := store.Stat(t.Context(), demo, "refused.apk"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the refusals: %v, want no file", err)
	}
}

func missing(t *testing.T, store *inputs.Store) {
	if _, err := store.Stat(t.Context(), demo, "never/uploaded.apk"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat: %v, want fs.ErrNotExist", err)
	}
	upload(t, store, "gone.apk", "x")
	file := recorded(t, store, "gone.apk")
	file.URL, _ = store.SignDownload(t.Context(), "demo", "never.apk", time.Minute)
	f := fetcher(t)
	err := f.Fetch(t.Context(), fetch.List{Directory: t.TempDir(), Files: []job.File{file}})
	if fetch.KindOf(err) != fetch.Missing || !strings.Contains(err.Error(), "gone.apk") {
		t.Errorf("Fetch: %v, want a missing gone.apk", err)
	}
}

// replaced: a run gets the file that existed when it started, or an error.
func replaced(t *testing.T, store *inputs.Store) {
	upload(t, store, "replaced.apk", "first")
	file := recorded(t, store, "replaced.apk")
	poll.True(t, "the store takes it for another file", func() bool { // some stores have times in whole seconds
		upload(t, store, "replaced.apk", "other")
		return recorded(t, store, "replaced.apk").ETag != file.ETag
	})
	dir := t.TempDir()
	f := fetcher(t)
	err := f.Fetch(t.Context(), fetch.List{Directory: dir, Files: []job.File{file}})
	if fetch.KindOf(err) != fetch.Changed {
		t.Errorf("Fetch: %v, want a changed file", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "replaced.apk")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// sized: a URL that was signed for a size takes a file of this size alone.
func sized(t *testing.T, store *inputs.Store) {
	signed, _, err := store.SignUpload(t.Context(), "demo", "sized.apk", 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"", "1234", "123456"} {
		if code := put(t, signed, "application/octet-stream", strings.NewReader(content), int64(len(content))); code != http.StatusForbidden {
			t.Errorf("%d bytes with a URL for 5: %d, want 403", len(content), code)
		}
	}
	if code := put(t, signed, "application/octet-stream", io.MultiReader(strings.NewReader("12345")), -1); code < 400 {
		t.Errorf("an upload that does not say its size: %d", code)
	}
	if _, err := store.Stat(t.Context(), demo, "sized.apk"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the refusals: %v, want no file", err)
	}
	if code := put(t, signed, "application/octet-stream", strings.NewReader("12345"), 5); code != http.StatusOK {
		t.Errorf("5 bytes: %d, want 200", code)
	}
}

// checksums: SDKs add headers that are not signed, which these stores take. Amazon S3 refuses them, as docs/inputs.md says.
func checksums(t *testing.T, store *inputs.Store) {
	for name, tc := range map[string]struct {
		header map[string]string
		size   int64
	}{
		"CRC32":     {map[string]string{"x-amz-checksum-crc32": "y/U6HA==", "x-amz-sdk-checksum-algorithm": "CRC32"}, -1},
		"SHA256":    {map[string]string{"x-amz-checksum-sha256": "WZRHGrsBESr8wYFZ9sx0tPURuZgG2lmzyvWpwXPKz8U="}, -1},
		"Sized":     {map[string]string{"x-amz-checksum-crc32": "y/U6HA==", "x-amz-sdk-checksum-algorithm": "CRC32"}, 5},
		"Algorithm": {map[string]string{"x-amz-sdk-checksum-algorithm": "CRC32"}, -1},
		"MD5":       {map[string]string{"content-md5": "gnzLDuqKcGxMNKFokfhOew=="}, 5},
		"Unsigned":  {map[string]string{"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			path := "checksum/" + name + ".zip"
			signed, _, err := store.SignUpload(t.Context(), "demo", path, tc.size)
			if err != nil {
				t.Fatal(err)
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, signed, strings.NewReader("12345"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/octet-stream")
			for name, value := range tc.header {
				r.Header.Set(name, value)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
				t.Errorf("%d, want 200: %s", resp.StatusCode, body)
			}
			if file := recorded(t, store, path); file.Size != 5 {
				t.Errorf("the file has %d bytes", file.Size)
			}
		})
	}
}

// earlierTeam: what was stored before a Team existed may belong to other people who had its name.
func earlierTeam(t *testing.T, store *inputs.Store) {
	upload(t, store, "theirs.apk", "x")
	found := recorded(t, store, "theirs.apk")
	later := demo.DeepCopy()
	later.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Hour))
	if _, err := store.Stat(t.Context(), later, "theirs.apk"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file from before the Team: %v, want no file", err)
	}
	later.Annotations = map[string]string{v1alpha1.AnnotationRecordsSince: time.Now().Add(-time.Hour).Format(time.RFC3339)}
	if got, err := store.Stat(t.Context(), later, "theirs.apk"); err != nil || got.ETag != found.ETag {
		t.Errorf("after a restore: %+v, %v", got, err)
	}
}
