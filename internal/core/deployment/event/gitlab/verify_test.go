package gitlab_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/event/gitlab"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const token, eventID = "a-token-that-nobody-guesses", "b2eecd3a-3ac9-489b-81d6-462ec4881ea5"

// key returns a signing token as GitLab makes them: 32 bytes.
func key(b byte) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune(b)), 32)))
}

// signed returns the headers of GitLab with a signature by each of the keys.
func signed(body string, at time.Time, keys ...string) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	var all []string
	for _, k := range keys {
		raw, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(k, "whsec_"))
		mac := hmac.New(sha256.New, raw)
		mac.Write([]byte(eventID + "." + stamp + "." + body))
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	h := http.Header{"Webhook-Id": {eventID}, "Webhook-Timestamp": {stamp}}
	if len(all) > 0 {
		h.Set("Webhook-Signature", strings.Join(all, " "))
	}
	return h
}

// also returns headers with another value, or without it if there is none.
func also(h http.Header, name string, values ...string) http.Header {
	h = h.Clone()
	h.Del(name)
	for _, value := range values {
		h.Add(name, value)
	}
	return h
}

func TestVerify(t *testing.T) {
	const body = `{"object_kind":"deployment"}`
	right, unsigned := signed(body, noon, key('a')), signed(body, noon)
	signature := right.Get("Webhook-Signature")
	ed25519, half := also(right, "Webhook-Signature", "v1a"+signature[2:]), also(right, "Webhook-Signature", signature[:24])
	withToken := also(unsigned, "X-Gitlab-Token", token)
	for name, tc := range map[string]struct {
		reason string
		secret string
		header http.Header
		body   string
		now    time.Time
		ok     bool
	}{
		"signed":                  {"GitLab 19.0 and later", key('a'), right, body, noon, true},
		"signed a while ago":      {"a queue, or a clock", key('a'), right, body, noon.Add(4 * time.Minute), true},
		"signed a little later":   {"a clock", key('a'), right, body, noon.Add(-4 * time.Minute), true},
		"sent again":              {"replayed", key('a'), right, body, noon.Add(5*time.Minute + time.Second), false},
		"signed in the future":    {"to be replayed later", key('a'), right, body, noon.Add(-5*time.Minute - time.Second), false},
		"another key":             {"signed by somebody else", key('b'), right, body, noon, false},
		"another body":            {"changed on its way", key('a'), right, body + " ", noon, false},
		"another time":            {"made newer on its way", key('a'), also(right, "Webhook-Timestamp", "1795176001"), body, noon, false},
		"another id":              {"made new on its way", key('a'), also(right, "Webhook-Id", "other"), body, noon, false},
		"two ids":                 {"which one is signed?", key('a'), also(right, "Webhook-Id", eventID, eventID), body, noon, false},
		"no time":                 {"it cannot be old then", key('a'), also(right, "Webhook-Timestamp"), body, noon, false},
		"a time of words":         {"it cannot be old then", key('a'), also(right, "Webhook-Timestamp", "now"), body, noon, false},
		"a negative time":         {"no number of seconds", key('a'), also(right, "Webhook-Timestamp", "-1"), body, noon, false},
		"a time after all":        {"beyond every clock", key('a'), also(right, "Webhook-Timestamp", "99999999999999"), body, noon, false},
		"no signature":            {"the webhook has no signing token", key('a'), unsigned, body, noon, false},
		"an empty signature":      {"it signs nothing", key('a'), also(right, "Webhook-Signature", ""), body, noon, false},
		"another version":         {"Ed25519", key('a'), ed25519, body, noon, false},
		"half a signature":        {"it is compared as a whole", key('a'), half, body, noon, false},
		"the old one and the new": {"while the secret is replaced", key('b') + "\n" + key('a'), right, body, noon, true},
		"signed by both":          {"Standard Webhooks may send several", key('a'), signed(body, noon, key('b'), key('a')), body, noon, true},
		"only a token, signed key": {"it must not stand in for a signature", key('a'), also(unsigned, "X-Gitlab-Token", key('a')), body, noon,
			false},
		"a bad key":            {"it is too short", "whsec_YWJj", right, body, noon, false},
		"a key without base64": {"cut by a shell", "whsec_####", right, body, noon, false},

		"a token":                   {"GitLab before 19.0", token, withToken, body, noon, true},
		"a token, with a line feed": {"kubectl's --from-file keeps it", token + "\n", withToken, body, noon, true},
		"a token and a signature":   {"while the webhook moves to signing", token, also(right, "X-Gitlab-Token", token), body, noon, true},
		"a token or a key":          {"the Secret has both meanwhile", key('a') + "\n" + token, withToken, body, noon, true},
		"a key or a token":          {"the Secret has both meanwhile", token + "\n" + key('a'), right, body, noon, true},
		"another token":             {"a guess", token, also(unsigned, "X-Gitlab-Token", token+"x"), body, noon, false},
		"a part of the token":       {"a guess", token, also(unsigned, "X-Gitlab-Token", token[:5]), body, noon, false},
		"an empty token":            {"anybody has it", token, also(unsigned, "X-Gitlab-Token", ""), body, noon, false},
		"no token":                  {"the webhook has none", token, unsigned, body, noon, false},
		"no token, signed":          {"by another key", token, right, body, noon, false},
		"two tokens": {"a proxy or a forger added one", token, also(unsigned, "X-Gitlab-Token", token, token), body, noon,
			false},
		"no secret":          {"anybody has it", "", also(unsigned, "X-Gitlab-Token", ""), body, noon, false},
		"a secret of spaces": {"anybody has it", " \n", also(unsigned, "X-Gitlab-Token", ""), body, noon, false},
		"a short line": {"anybody can guess it", "short\n" + token, also(unsigned, "X-Gitlab-Token", "short"), body, noon,
			false},
		"five secrets":                    {"the old ones should go", strings.Repeat(token+"\n", 5), withToken, body, noon, false},
		"a signature of the empty key":    {"anybody can make it", "whsec_", signed(body, noon, "whsec_"), body, noon, false},
		"a token that looks like an HMAC": {"only its own kind counts", token, also(right, "X-Gitlab-Token", signature), body, noon, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := gitlab.Verify([]byte(tc.secret), tc.header, []byte(tc.body), tc.now)
			var verify *event.VerifyError
			if (err == nil) != tc.ok || err != nil && !errors.As(err, &verify) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
			if err != nil && (strings.Contains(err.Error(), token) || strings.Contains(err.Error(), key('a')[6:])) {
				t.Errorf("the reason has the secret: %v", err)
			}
		})
	}
}
