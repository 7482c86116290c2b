// Package gitlab reads events of GitLab: of the webhook of a project or a group, on gitlab.com or a self-managed instance.
package gitlab

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
)

const (
	tokenHeader     = "X-Gitlab-Token"
	idHeader        = "Webhook-Id"
	timestampHeader = "Webhook-Timestamp"
	signatureHeader = "Webhook-Signature"

	keyPrefix = "whsec_" // of a signing token

	tolerance                = 5 * time.Minute // of the signed time, as Standard Webhooks recommends: clocks differ, and a queue may be long
	maxSignatures            = 8               // in a header; GitLab sends one
	minKeyBytes, maxKeyBytes = 24, 64          // of a signing token, as in Standard Webhooks; GitLab makes 32
)

// Format reads the events of GitLab.
func Format() event.Format {
	return event.Format{SecretProblem: secretProblem, Verify: Verify, Decode: Decode}
}

// secretProblem returns why a secret cannot be used, as a clause without the secret, or "".
func secretProblem(secret []byte) string {
	_, _, problem := secrets(secret)
	return problem
}

// secrets returns the keys of the signing tokens among the lines of a secret, and the other lines.
func secrets(secret []byte) (keys [][]byte, tokens []string, problem string) {
	lines, problem := event.Secrets(secret)
	for _, line := range lines {
		encoded, signing := strings.CutPrefix(line, keyPrefix)
		if !signing {
			tokens = append(tokens, line)
			continue
		}
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(key) < minKeyBytes || len(key) > maxKeyBytes {
			return nil, nil, "has a line that begins with whsec_, and is no signing token"
		}
		keys = append(keys, key)
	}
	return keys, tokens, problem
}

// Verify checks the signature if the secret is a signing token, which GitLab has since 19.0, and the header X-Gitlab-Token otherwise. One
// never stands in for the other, because anyone who sees a request learns its token. While the secret is replaced, it may have several
// lines, each of either kind. GitLab sends webhook-id and webhook-timestamp with every event, signed or not.
func Verify(secret []byte, h event.Header, body []byte, now time.Time) error {
	keys, tokens, problem := secrets(secret)
	if problem != "" {
		return &event.VerifyError{Reason: "the secret " + problem}
	}
	var err error
	if len(keys) > 0 {
		if err = signed(keys, h, body, now); err == nil {
			return nil
		}
	}
	if len(tokens) > 0 {
		err = hasToken(tokens, h)
	}
	return err
}

// hasToken compares digests, so that the time tells neither the length nor a part of a token.
func hasToken(tokens []string, h event.Header) error {
	sent := h.Values(tokenHeader)
	switch {
	case len(sent) == 0 && len(h.Values(signatureHeader)) > 0:
		return &event.VerifyError{Reason: "the webhook has a signing token, and the secret has none"}
	case len(sent) != 1:
		return &event.VerifyError{Reason: "there is not exactly one header " + tokenHeader}
	}
	got, found := sha256.Sum256([]byte(sent[0])), false
	for _, token := range tokens {
		want := sha256.Sum256([]byte(token))
		found = hmac.Equal(got[:], want[:]) || found
	}
	if !found {
		return &event.VerifyError{Reason: "the token in the header " + tokenHeader + " is not the secret"}
	}
	return nil
}

// signed checks a signature of Standard Webhooks, over the id, the time and the body.
func signed(keys [][]byte, h event.Header, body []byte, now time.Time) error {
	for _, name := range []string{idHeader, timestampHeader, signatureHeader} {
		if len(h.Values(name)) != 1 {
			return &event.VerifyError{
				Reason: "there is not exactly one header " + strings.ToLower(name) + ": does the webhook have a signing token?",
			}
		}
	}
	stamp := h.Get(timestampHeader)
	seconds, err := strconv.ParseUint(stamp, 10, 40)
	if err != nil {
		return &event.VerifyError{Reason: "the header webhook-timestamp is no number of seconds"}
	}
	signatures := strings.Fields(h.Get(signatureHeader))
	found := false
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(h.Get(idHeader) + "." + stamp + "."))
		_, _ = mac.Write(body)
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, got := range signatures[:min(len(signatures), maxSignatures)] {
			found = hmac.Equal([]byte(got), []byte(want)) || found
		}
	}
	switch {
	case !found:
		return &event.VerifyError{Reason: "the signature is not that of the secret, the id, the time and the body"}
	case now.Sub(time.Unix(int64(seconds), 0)).Abs() > tolerance:
		return &event.VerifyError{Reason: "it was signed more than 5 minutes ago, or will be: is the clock right, or was it sent again?"}
	default:
		return nil
	}
}
