package flux_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/flux"
	"github.com/postflight-dev/postflight/test/payload"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const token = "a-token-that-nobody-guesses"

func sign(body, token string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func TestVerify(t *testing.T) {
	body := string(payload.Recorded(t, "kustomization.json"))
	right := sign(body, token)
	header := func(values ...string) http.Header { return http.Header{"X-Signature": values} }
	bare, untimed := `{"timestamp":"2026-11-20T12:00:00Z"}`, `{"reason":"info"}`
	for name, tc := range map[string]struct {
		reason string
		secret string
		header http.Header
		body   string
		now    time.Time
		ok     bool
	}{
		"signed":                 {"a Provider of the type generic-hmac", token, header(right), body, noon, true},
		"a secret's line feed":   {"Flux trims its token, too", token + "\n", header(right), body, noon, true},
		"the old and the new":    {"while the secret is replaced", "the-old-token-of-before\n" + token, header(right), body, noon, true},
		"a token with spaces":    {"a line is one token", "a b c d e f g h i", header(sign(body, "a b c d e f g h i")), body, noon, true},
		"on time, nothing else":  {"Decode says what is missing", token, header(sign(bare, token)), bare, noon, true},
		"a while ago":            {"Flux tries again, and clocks differ", token, header(right), body, noon.Add(4 * time.Minute), true},
		"a little later":         {"clocks differ", token, header(right), body, noon.Add(-4 * time.Minute), true},
		"sent again":             {"replayed", token, header(right), body, noon.Add(5*time.Minute + time.Second), false},
		"in the future":          {"to be replayed later", token, header(right), body, noon.Add(-5*time.Minute - time.Second), false},
		"without a time":         {"it could be replayed for ever", token, header(sign(untimed, token)), untimed, noon, false},
		"another secret":         {"signed by somebody else", "other", header(right), body, noon, false},
		"no secret":              {"anybody can sign with none", "", header(sign(body, "")), body, noon, false},
		"a secret of spaces":     {"anybody can sign with none", " \n", header(sign(body, "")), body, noon, false},
		"another body":           {"changed on its way", token, header(right), body + " ", noon, false},
		"not signed":             {"the type is generic", token, http.Header{}, body, noon, false},
		"two signatures":         {"a proxy or a forger added one", token, header(right, right), body, noon, false},
		"another algorithm":      {"Flux has one", token, header("sha512=" + right[7:]), body, noon, false},
		"no algorithm":           {"Flux names it", token, header(right[7:]), body, noon, false},
		"half of it":             {"it is compared as a whole", token, header(right[:39]), body, noon, false},
		"digits after it":        {"it is compared as a whole", token, header(right + "00"), body, noon, false},
		"no digits":              {"it cannot be decoded", token, header("sha256=" + strings.Repeat("z", 64)), body, noon, false},
		"a signature of nothing": {"it signs another body", token, header(sign("", token)), body, noon, false},
		"a short line":           {"anybody can guess it", "short\n" + token, header(sign(body, "short")), body, noon, false},
		"five secrets":           {"the old ones should go", strings.Repeat(token+"\n", 5), header(right), body, noon, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := flux.Verify([]byte(tc.secret), tc.header, []byte(tc.body), tc.now)
			var verify *event.VerifyError
			if (err == nil) != tc.ok || err != nil && !errors.As(err, &verify) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}
