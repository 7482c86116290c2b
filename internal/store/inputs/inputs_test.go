package inputs_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath/inputpathtest"
	"github.com/postflight-dev/postflight/internal/store/inputs"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/stores"
)

func good() objectstore.Options {
	return objectstore.Options{
		Endpoint: "http://store.internal:9000", PublicEndpoint: "https://files.example.com", Region: "eu-central-1",
		Bucket: "postflight", PathStyle: true, UploadLifetime: 15 * time.Minute,
	}
}

func newStore(t testing.TB) *inputs.Store {
	t.Helper()
	stores.Credentials(t)
	return &inputs.Store{Bucket: stores.Open(t, good())}
}

func TestDownloadsAreForPods(t *testing.T) {
	for lifetime, want := range map[time.Duration]string{time.Hour: "3600", 0: "1", 30 * 24 * time.Hour: "604800"} {
		signed, err := newStore(t).SignDownload(t.Context(), "demo", "app.apk", lifetime)
		if err != nil || !strings.HasPrefix(signed, "http://store.internal:9000/postflight/demo/app.apk?") ||
			!strings.Contains(signed, "X-Amz-Expires="+want+"&") {
			t.Errorf("lifetime %s: %s, %v; want the internal endpoint and %s seconds", lifetime, signed, err, want)
		}
	}
}

// TestNothingIsSignedForABadPath: the store rejects bad paths, too, although the endpoint does so before.
func TestNothingIsSignedForABadPath(t *testing.T) {
	store := newStore(t)
	for name, path := range inputpathtest.BadUploads {
		if inputpath.Check(path) == nil {
			continue // only its extension is bad, which downloads need not have
		}
		if signed, _, err := store.SignUpload(t.Context(), "demo", path, -1); err == nil {
			t.Errorf("%s: %q is signed: %s", name, path, signed)
		}
	}
}

// FuzzSignedURL: every signed URL is for a key below the team's prefix.
func FuzzSignedURL(f *testing.F) {
	store := newStore(f)
	for _, path := range inputpathtest.BadUploads {
		f.Add(path)
	}
	f.Add("größe 100%/a+b?c#d&e.apk")
	f.Fuzz(func(t *testing.T, path string) {
		signed, _, err := store.SignUpload(t.Context(), "demo", path, -1)
		if err != nil {
			return
		}
		u, err := url.Parse(signed)
		if err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		if want := "/postflight/demo/" + path; u.Path != want || u.Host != "files.example.com" || u.JoinPath().Path != want {
			t.Errorf("%q is signed as %q, want %q", path, u.Path, want)
		}
	})
}
