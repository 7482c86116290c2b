package files_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath/inputpathtest"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/files"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/store/inputs"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/stores"
)

// TestTeamStorage uploads files with the URL of an answer. A run finds each by the two locations, and those of the team alone.
func TestTeamStorage(t *testing.T) {
	stores.Credentials(t)
	store := &inputs.Store{Bucket: stores.Rclone(t).Bucket(t)}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Config: func(c *api.Config) { c.Uploads = store }})
	for name, tc := range map[string]struct{ query, path string }{
		"a name":                         {"file=customers.json", "customers.json"},
		"no extension":                   {"file=fixtures/LICENSE", "fixtures/LICENSE"},
		"any extension":                  {"file=certificates/root.pem", "certificates/root.pem"},
		"that of a run input":            {"file=app.apk", "app.apk"},
		"a hidden file":                  {"file=.env.test", ".env.test"},
		"a size":                         {"file=sized.txt&bytes=7", "sized.txt"},
		"what the published client asks": {"file=fixtures/m%C3%BCller%20(1).csv", "fixtures/müller (1).csv"}, // new URL() encodes so
	} {
		t.Run(name, func(t *testing.T) {
			w := h.Exchange(apitest.Get(apitest.TeamStoragePath + "?" + tc.query))
			if w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			signed := apitest.Decode[httpapi.SignedURL](t, w)
			if signed.FileLocation != "acme/"+tc.path || signed.PlaygroundFileLocation != tc.path {
				t.Errorf("the locations are %q and %q", signed.FileLocation, signed.PlaygroundFileLocation)
			}
			if status := putFile(t, signed.SignedURL, "content"); status != http.StatusOK {
				t.Fatalf("PUT: %d", status)
			}
			for _, location := range []string{signed.FileLocation, signed.PlaygroundFileLocation} {
				path, err := inputpath.Resolve("acme", location)
				if err != nil {
					t.Fatal(err)
				}
				if found, err := store.Stat(t.Context(), apitest.Team("acme"), path); err != nil || found.Size != 7 {
					t.Errorf("a run that names %q finds %+v, %v", location, found, err)
				}
				if _, err := store.Stat(t.Context(), apitest.Team("other"), path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a run of another team that names %q: %v", location, err)
				}
			}
		})
	}
}

// TestTeamStorageURL: it is for one file of one size, of the team that asked.
func TestTeamStorageURL(t *testing.T) {
	stores.Credentials(t)
	store := &inputs.Store{Bucket: stores.Rclone(t).Bucket(t)}
	h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Config: func(c *api.Config) { c.Uploads = store }})
	signed := apitest.Decode[httpapi.SignedURL](t, h.Exchange(apitest.Get(apitest.TeamStoragePath+"?file=a.json&bytes=7"))).SignedURL
	for name, tc := range map[string]struct{ from, to, content string }{
		"another team": {"/acme/", "/other/", "content"},
		"another file": {"a.json", "b.json", "content"},
		"the archive":  {"a.json", "postflight-runs/a.json", "content"},
		"more bytes":   {"", "", "contents"},
		"fewer bytes":  {"", "", "conten"},
	} {
		t.Run(name, func(t *testing.T) {
			if status := putFile(t, strings.Replace(signed, tc.from, tc.to, 1), tc.content); status != http.StatusForbidden {
				t.Errorf("PUT: %d, want 403", status)
			}
		})
	}
}

func putFile(t *testing.T, url, content string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// TestBadTeamStorage: each is 400, and nothing is signed. Any extension is good.
func TestBadTeamStorage(t *testing.T) {
	bad := map[string]string{
		"Missing": "", "Twice": "?file=a&file=b", "BadEscape": "?file=a%zz", "EncodedTraversal": "?file=%2e%2e%2fother%2fa",
		"EncodedBackslash": "?file=..%5cother%5ca", "EncodedNul": "?file=a%00", "OverlongUTF8": "?file=%c0%ae%c0%ae/a",
		"LongName": "?file=" + strings.Repeat("a", 256), "LongFolder": "?file=" + strings.Repeat("a", 256) + "/a",
	}
	for name, path := range inputpathtest.BadUploads {
		if inputpath.CheckFile(path) != nil { // otherwise only its extension is bad
			bad["Path"+name] = "?file=" + url.QueryEscape(path)
		}
	}
	if len(bad) < 45 {
		t.Fatalf("only %d bad paths", len(bad))
	}
	s := &apitest.Signer{}
	h := withSigner(t, s)
	h.Validate = false // the document describes it in prose only
	for name, query := range bad {
		t.Run(name, func(t *testing.T) {
			w := h.Exchange(apitest.Get(apitest.TeamStoragePath + query))
			if p := apitest.Decode[httpapi.Problem](t, w); w.Code != http.StatusBadRequest || p.FailureCode != "invalid_file" ||
				strings.Contains(p.FailureMessage, ".apk, .aab") {
				t.Errorf("%q: status %d: %s", query, w.Code, w.Body)
			}
		})
	}
	if len(s.Signed) > 0 {
		t.Errorf("signed: %q", s.Signed)
	}
}

func TestTeamStorageRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		uploads files.Uploads
		request *http.Request
		status  int
		code    string
	}{
		"no store":  {nil, apitest.Get(apitest.TeamStoragePath + "?file=a"), 503, "store_not_configured"},
		"no key":    {&apitest.Signer{}, httptest.NewRequest(http.MethodGet, apitest.TeamStoragePath+"?file=a", nil), 401, "unauthenticated"},
		"POST":      {&apitest.Signer{}, httptest.NewRequest(http.MethodPost, apitest.TeamStoragePath+"?file=a", nil), 405, "method_not_allowed"},
		"too large": {&apitest.Signer{}, apitest.Get(apitest.TeamStoragePath + "?file=a&bytes=101"), 413, "file_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Config: func(c *api.Config) { c.Uploads = tc.uploads },
				Limits: func(l *limits.Limits) { l.InputBytes = 100 }})
			if w := h.Exchange(tc.request); w.Code != tc.status || apitest.Decode[httpapi.Problem](t, w).FailureCode != tc.code {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, tc.status, tc.code)
			}
		})
	}
}
