// Package flux reads events of Flux, which its notification-controller sends for a Provider of the type generic-hmac.
package flux

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/event"
)

const signatureHeader = "X-Signature"

// tolerance of the time in an event, which is signed like the rest. Flux tries for seconds to deliver one. For as long, equal events are
// dropped, so that one that is sent again starts nothing.
const tolerance = 5 * time.Minute

// Format reads the events of Flux.
func Format() event.Format { return event.Format{Verify: Verify, Decode: Decode} }

// Verify checks the signature of the whole body, and the time in it. The secret is the token of the Provider, which Flux trims.
func Verify(secret []byte, h event.Header, body []byte, now time.Time) error {
	tokens, err := event.Secrets(secret)
	if err != nil {
		return err
	}
	sent := h.Values(signatureHeader)
	if len(sent) != 1 {
		return &event.VerifyError{Reason: "there is not exactly one header " + signatureHeader + ": is the type of the Provider generic-hmac?"}
	}
	digits, found := strings.CutPrefix(sent[0], "sha256=")
	signature, err := hex.DecodeString(digits)
	if !found || err != nil || len(signature) != sha256.Size {
		return &event.VerifyError{Reason: "the header " + signatureHeader + " is not sha256= and 64 hexadecimal digits"}
	}
	signed := false
	for _, token := range tokens {
		mac := hmac.New(sha256.New, []byte(token))
		mac.Write(body)
		signed = hmac.Equal(mac.Sum(nil), signature) || signed
	}
	if !signed {
		return &event.VerifyError{Reason: "the signature is not that of the secret and the body"}
	}
	p, err := read(body)
	switch {
	case err != nil:
		return nil // for Decode to explain: the sender is who it should be
	case now.Sub(p.Timestamp).Abs() > tolerance:
		return &event.VerifyError{Reason: "it happened more than 5 minutes ago, or will: is the clock right, or was it sent again?"}
	default:
		return nil
	}
}
