// Package flux reads events of Flux, which its notification-controller sends for a Provider of the type generic-hmac.
package flux

import (
	"time"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
)

const signatureHeader = "X-Signature"

// tolerance of the time in an event, which is signed like the rest. Flux tries for seconds to deliver an event. Equal events are dropped
// for as long as the tolerance, so that a duplicate starts nothing.
const tolerance = 5 * time.Minute

// Format reads the events of Flux.
func Format() event.Format {
	return event.Format{SecretProblem: event.SecretProblem, Verify: Verify, Decode: Decode}
}

// Verify checks the signature, and the time in the body. The secret is the token of the Provider, which Flux trims.
func Verify(secret []byte, h event.Header, body []byte, now time.Time) error {
	if err := event.VerifyHMAC(secret, h, signatureHeader, body); err != nil {
		return err
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
