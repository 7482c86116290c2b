package github_test

import (
	"net/http"
	"strings"
	"testing"

	"time"

	"github.com/postflight-dev/postflight/internal/core/deployment/event/github"
)

// The values with which GitHub's documentation tests an implementation.
const (
	docsSecret    = "It's a Secret to Everybody"
	docsBody      = "Hello, World!"
	docsSignature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
)

func TestVerify(t *testing.T) {
	const header = "X-Hub-Signature-256"
	of := func(values ...string) http.Header { return http.Header{header: values} }
	cases := map[string]struct {
		reason string
		secret string
		header http.Header
		body   string
		ok     bool
	}{
		"documented": {"GitHub documents these values", docsSecret, of(docsSignature), docsBody, true},
		"while it is replaced": {"the old one still signs", "the secret that takes its place\n" + docsSecret + "\n", of(docsSignature), docsBody,
			true},
		"a short line":   {"one that can be guessed is enough for a forger", docsSecret + "\nshort", of(docsSignature), docsBody, false},
		"another secret": {"it was signed by somebody else", "It's a Secret to Nobody", of(docsSignature), docsBody, false},
		"no secret":      {"anybody can sign with none", "", of("sha256=" + strings.Repeat("0", 64)), docsBody, false},
		"another body":   {"the body was changed on its way", docsSecret, of(docsSignature), docsBody + " ", false},
		"no signature":   {"the webhook has no secret", docsSecret, http.Header{}, docsBody, false},
		"SHA-1 only": {"GitHub sends it for old receivers", docsSecret,
			http.Header{"X-Hub-Signature": {"sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59"}}, docsBody, false},
		"two signatures":    {"a proxy or a forger added one", docsSecret, of(docsSignature, docsSignature), docsBody, false},
		"another algorithm": {"the prefix names it", docsSecret, of("sha512=" + docsSignature[7:]), docsBody, false},
		"half of it":        {"an HMAC is compared as a whole", docsSecret, of(docsSignature[:39]), docsBody, false},
		"no digits":         {"it cannot be decoded", docsSecret, of("sha256=" + strings.Repeat("z", 64)), docsBody, false},
		"digits after it":   {"an HMAC is compared as a whole", docsSecret, of(docsSignature + "00"), docsBody, false},
		"upper-case letters": {"hexadecimal digits have two spellings", docsSecret, of("sha256=" + strings.ToUpper(docsSignature[7:])),
			docsBody, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := github.Verify([]byte(tc.secret), tc.header, []byte(tc.body), time.Time{})
			if (err == nil) != tc.ok {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}
