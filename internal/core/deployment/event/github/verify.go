// Package github reads events of GitHub: of the webhook of an App, or of a repository or an organization.
package github

import (
	"time"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
)

const signatureHeader = "X-Hub-Signature-256"

// Format reads the events of GitHub.
func Format() event.Format {
	return event.Format{SecretProblem: event.SecretProblem, Verify: Verify, Decode: Decode}
}

// Verify checks the signature. It does not accept the older header X-Hub-Signature, with SHA-1. GitHub signs no time: duplicates are
// recognized by their content.
func Verify(secret []byte, h event.Header, body []byte, _ time.Time) error {
	return event.VerifyHMAC(secret, h, signatureHeader, body)
}
