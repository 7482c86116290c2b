package endpoint

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/inputpath"
	"github.com/postflight-dev/postflight/internal/inputpath/inputpathtest"
)

const signedURLPath = "/api/v0/run-inputs-executables-signed-urls"

// signer records what it signs.
type signer struct {
	signed []string
	err    error
}

func (s *signer) SignUpload(_ context.Context, team, path string) (string, error) {
	s.signed = append(s.signed, team+"/"+path)
	return "https://s3.example.com/bucket?X-Amz-Signature=secret&a=b", s.err
}

func get(target string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Header.Set("Authorization", "Bearer "+goodKey)
	return r
}

func withSigner(t *testing.T, s Uploads) *harness {
	t.Helper()
	return start(t, setup{objects: acme(), config: func(c *Config) { c.Uploads = s }})
}

func TestSignedURL(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		target string
		want   string
	}{
		"Name":         {reason: "A name will do.", target: signedURLPath + "?file=app.apk", want: "app.apk"},
		"DoubleSlash":  {reason: "A base URL may end in a slash.", target: "//api/v0/run-inputs-executables-signed-urls?file=app.apk", want: "app.apk"},
		"Encoded":      {reason: "What encodeURIComponent makes.", target: signedURLPath + "?file=" + url.QueryEscape("a b/c+d%25/ü.IPA"), want: "a b/c+d%25/ü.IPA"},
		"PlusIsSpace":  {reason: "As in every query.", target: signedURLPath + "?file=a+b.zip", want: "a b.zip"},
		"UnknownParam": {reason: "Others are skipped.", target: signedURLPath + "?x=1&file=app.apk&dryRun=true", want: "app.apk"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &signer{}
			h := withSigner(t, s)
			w := h.exchange(get(tc.target))
			if w.Code != http.StatusOK {
				t.Fatalf("%s\nstatus %d: %s", tc.reason, w.Code, w.Body)
			}
			want := httpapi.SignedURL{FileLocation: "acme/" + tc.want, PlaygroundFileLocation: tc.want, SignedURL: "https://s3.example.com/bucket?X-Amz-Signature=secret&a=b"}
			if diff := cmp.Diff(want, decode[httpapi.SignedURL](t, w)); diff != "" {
				t.Errorf("%s\nanswer (-want +got):\n%s", tc.reason, diff)
			}
			if logged := h.log.String() + h.audit.String(); strings.Contains(logged, "secret") {
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
	s := &signer{}
	h := withSigner(t, s)
	h.validate = false // the document describes it in prose only
	for name, query := range bad {
		t.Run(name, func(t *testing.T) {
			w := h.exchange(get(signedURLPath + query))
			p := decode[problem](t, w)
			if w.Code != http.StatusBadRequest || p.FailureCode != "invalid_file" || !strings.Contains(p.FailureMessage, inputpath.Extensions()) {
				t.Errorf("%q: status %d: %s", query, w.Code, w.Body)
			}
		})
	}
	if len(s.signed) > 0 {
		t.Errorf("signed: %q", s.signed)
	}
}

func TestSignedURLRefused(t *testing.T) {
	good := func() *http.Request { return get(signedURLPath + "?file=app.apk") }
	for name, tc := range map[string]struct {
		reason  string
		uploads Uploads
		request *http.Request
		status  int
		code    string
	}{
		"NoStore":    {reason: "What is missing is said.", request: good(), status: 503, code: "store_not_configured"},
		"CannotSign": {reason: "No credentials, say.", uploads: &signer{err: errors.New("secret")}, request: good(), status: 503, code: "store_unavailable"},
		"NoKey": {reason: "A URL is only for a team.", uploads: &signer{}, status: 401, code: "unauthenticated",
			request: httptest.NewRequest(http.MethodGet, signedURLPath+"?file=app.apk", nil)},
		"KeyInQuery": {reason: "Keys do not belong into URLs.", uploads: &signer{}, status: 401, code: "unauthenticated",
			request: httptest.NewRequest(http.MethodGet, signedURLPath+"?file=app.apk&key="+goodKey, nil)},
		"Post": {reason: "Only GET.", uploads: &signer{}, status: 405, code: "method_not_allowed",
			request: httptest.NewRequest(http.MethodPost, signedURLPath+"?file=app.apk", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			w := withSigner(t, tc.uploads).exchange(tc.request)
			if p := decode[problem](t, w); w.Code != tc.status || p.FailureCode != tc.code {
				t.Errorf("%s\nstatus %d %s, want %d %s", tc.reason, w.Code, p.FailureCode, tc.status, tc.code)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the answer says too much: %s", w.Body)
			}
		})
	}
}
