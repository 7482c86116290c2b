// Package github reads events of GitHub: of the webhook of an App, or of a repository or an organization.
package github

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/event"
)

const signatureHeader = "X-Hub-Signature-256"

// Format reads the events of GitHub.
func Format() event.Format { return event.Format{Verify: Verify, Decode: Decode} }

// Verify checks the signature of the whole body by each line of the secret, which is two while it is replaced. That of the older header X-Hub-Signature, with SHA-1, is not accepted. GitHub signs no
// time: a delivery that is sent again is recognized by what it says.
func Verify(secret []byte, h event.Header, body []byte, _ time.Time) error {
	sent := h.Values(signatureHeader)
	if len(sent) != 1 {
		return &event.VerifyError{Reason: "there is not exactly one header " + signatureHeader}
	}
	digits, found := strings.CutPrefix(sent[0], "sha256=")
	signature, err := hex.DecodeString(digits)
	if !found || err != nil || len(signature) != sha256.Size {
		return &event.VerifyError{Reason: "the header " + signatureHeader + " is not sha256= and 64 hexadecimal digits"}
	}
	secrets, err := event.Secrets(secret)
	if err != nil {
		return err
	}
	for _, one := range secrets {
		mac := hmac.New(sha256.New, []byte(one))
		mac.Write(body)
		if hmac.Equal(mac.Sum(nil), signature) {
			return nil
		}
	}
	return &event.VerifyError{Reason: "the signature is not that of the secret and the body"}
}
