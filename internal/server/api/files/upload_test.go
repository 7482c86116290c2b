package files_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath/inputpathtest"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/files"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/test/apitest"
)

const signedURLPath = "/api/v0/run-inputs-executables-signed-urls"

func withSigner(t *testing.T, s files.Uploads) *apitest.World {
	t.Helper()
	return apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Config: func(c *api.Config) { c.Uploads = s }})
}

func TestSignedURL(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		target string
		want   string
	}{
		"Name": {reason: "A name will do.", target: signedURLPath + "?file=app.apk", want: "app.apk"},
		"DoubleSlash": {reason: "A base URL may end in a slash.", target: "//api/v0/run-inputs-executables-signed-urls?file=app.apk",
			want: "app.apk"},
		"Encoded": {reason: "What encodeURIComponent makes.", target: signedURLPath + "?file=" + url.QueryEscape("a b/c+d%25/ü.IPA"),
			want: "a b/c+d%25/ü.IPA"},
		"PlusIsSpace":  {reason: "As in every query.", target: signedURLPath + "?file=a+b.zip", want: "a b.zip"},
		"UnknownParam": {reason: "Others are skipped.", target: signedURLPath + "?x=1&file=app.apk&dryRun=true", want: "app.apk"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &apitest.Signer{}
			h := withSigner(t, s)
			w := h.Exchange(apitest.Get(tc.target))
			if w.Code != http.StatusOK {
				t.Fatalf("%s\nstatus %d: %s", tc.reason, w.Code, w.Body)
			}
			want := httpapi.SignedURL{FileLocation: "acme/" + tc.want, PlaygroundFileLocation: tc.want,
				SignedURL: "https://s3.example.com/bucket?X-Amz-Signature=secret&a=b", ExpiresAt: apitest.Noon.Truncate(time.Second).Add(4 * time.Minute)}
			if diff := cmp.Diff(want, apitest.Decode[httpapi.SignedURL](t, w)); diff != "" {
				t.Errorf("%s\nanswer (-want +got):\n%s", tc.reason, diff)
			}
			if logged := h.Log.String() + h.Audit.String(); strings.Contains(logged, "secret") {
				t.Errorf("the signature is in the log: %s", logged)
			}
		})
	}
}

// TestBadFile: each is 400 that lists the extensions, and nothing is signed.
func TestBadFile(t *testing.T) {
	bad := map[string]string{
		"Missing":          "",
		"OtherName":        "?path=app.apk",
		"OtherCase":        "?File=app.apk",
		"Twice":            "?file=a.apk&file=b.apk",
		"TwiceTheSame":     "?file=a.apk&file=a.apk",
		"BadEscape":        "?file=a%zz.apk",
		"BadEscapeBefore":  "?x=%&file=a.apk",
		"Semicolon":        "?file=a;b.apk",
		"Overlong":         "?file=" + strings.Repeat("a/", 300) + "a.apk",
		"EncodedTraversal": "?file=%2e%2e%2fother%2fapp.apk",
		"EncodedBackslash": "?file=..%5cother%5capp.apk",
		"EncodedNul":       "?file=app.exe%00.apk",
		"OverlongUTF8":     "?file=%c0%ae%c0%ae/app.apk",
	}
	for name, path := range inputpathtest.BadUploads {
		bad["Path"+name] = "?file=" + url.QueryEscape(path)
	}
	if len(bad) < 40 {
		t.Fatalf("only %d bad paths", len(bad))
	}
	s := &apitest.Signer{}
	h := withSigner(t, s)
	h.Validate = false // the document describes it in prose only
	for name, query := range bad {
		t.Run(name, func(t *testing.T) {
			w := h.Exchange(apitest.Get(signedURLPath + query))
			p := apitest.Decode[httpapi.Problem](t, w)
			if w.Code != http.StatusBadRequest || p.FailureCode != "invalid_file" || !strings.Contains(p.FailureMessage, inputpath.Extensions()) {
				t.Errorf("%q: status %d: %s", query, w.Code, w.Body)
			}
		})
	}
	if len(s.Signed) > 0 {
		t.Errorf("signed: %q", s.Signed)
	}
}

// TestSizeOfInput: a size is signed, and one that is too large is refused before anything is uploaded.
func TestSizeOfInput(t *testing.T) {
	for name, tc := range map[string]struct {
		query    string
		required bool
		status   int
		code     string
		signed   string
	}{
		"a size":                  {query: "&bytes=5", status: 200, signed: "acme/app.apk 5"},
		"nothing":                 {query: "&bytes=0", status: 200, signed: "acme/app.apk 0"},
		"the limit":               {query: "&bytes=100", status: 200, signed: "acme/app.apk 100"},
		"one more":                {query: "&bytes=101", status: 413, code: "file_too_large"},
		"far more":                {query: "&bytes=9223372036854775807", status: 413, code: "file_too_large"},
		"more than a number has":  {query: "&bytes=9223372036854775808", status: 400, code: "invalid_file"},
		"less than nothing":       {query: "&bytes=-1", status: 400, code: "invalid_file"},
		"an empty one":            {query: "&bytes=", status: 400, code: "invalid_file"},
		"a unit":                  {query: "&bytes=5Mi", status: 400, code: "invalid_file"},
		"two":                     {query: "&bytes=5&bytes=5", status: 400, code: "invalid_file"},
		"none, as clients do":     {status: 200, signed: "acme/app.apk -1"},
		"none where one must be":  {required: true, status: 400, code: "invalid_file"},
		"a size where it must be": {query: "&bytes=5", required: true, status: 200, signed: "acme/app.apk 5"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &apitest.Signer{}
			h := apitest.Start(t, apitest.Setup{Objects: apitest.Acme(), Config: func(c *api.Config) { c.Uploads = s },
				Limits: func(l *limits.Limits) {
					l.InputBytes, l.InputSizeRequired = 100, tc.required
				}})
			h.Validate = tc.status != http.StatusBadRequest
			w := h.Exchange(apitest.Get(signedURLPath + "?file=app.apk" + tc.query))
			if w.Code != tc.status || strings.Join(s.Signed, " ") != tc.signed {
				t.Fatalf("status %d, signed %q: %s", w.Code, s.Signed, w.Body)
			}
			if tc.code != "" && apitest.Decode[httpapi.Problem](t, w).FailureCode != tc.code {
				t.Errorf("%s, want %s", w.Body, tc.code)
			}
		})
	}
}

func TestSignedURLRefused(t *testing.T) {
	good := func() *http.Request { return apitest.Get(signedURLPath + "?file=app.apk") }
	for name, tc := range map[string]struct {
		reason  string
		uploads files.Uploads
		request *http.Request
		status  int
		code    string
	}{
		"NoStore": {reason: "What is missing is said.", request: good(), status: 503, code: "store_not_configured"},
		"CannotSign": {reason: "No credentials, say.", uploads: &apitest.Signer{Err: errors.New("secret")}, request: good(), status: 503,
			code: "store_unavailable"},
		"NoKey": {reason: "A URL is only for a team.", uploads: &apitest.Signer{}, status: 401, code: "unauthenticated",
			request: httptest.NewRequest(http.MethodGet, signedURLPath+"?file=app.apk", nil)},
		"KeyInQuery": {reason: "Keys do not belong into URLs.", uploads: &apitest.Signer{}, status: 401, code: "unauthenticated",
			request: httptest.NewRequest(http.MethodGet, signedURLPath+"?file=app.apk&key="+apitest.GoodKey, nil)},
		"Post": {reason: "Only GET.", uploads: &apitest.Signer{}, status: 405, code: "method_not_allowed",
			request: httptest.NewRequest(http.MethodPost, signedURLPath+"?file=app.apk", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			w := withSigner(t, tc.uploads).Exchange(tc.request)
			if p := apitest.Decode[httpapi.Problem](t, w); w.Code != tc.status || p.FailureCode != tc.code {
				t.Errorf("%s\nstatus %d %s, want %d %s", tc.reason, w.Code, p.FailureCode, tc.status, tc.code)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the answer says too much: %s", w.Body)
			}
		})
	}
}
