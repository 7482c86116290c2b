package event

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// VerifyHMAC returns a *VerifyError unless the one header of this name is sha256= and the HMAC of the whole body with a line of the secret.
func VerifyHMAC(secret []byte, h Header, name string, body []byte) error {
	sent := h.Values(name)
	if len(sent) != 1 {
		return &VerifyError{Reason: "there is not exactly one header " + name}
	}
	digits, found := strings.CutPrefix(sent[0], "sha256=")
	signature, err := hex.DecodeString(digits)
	if !found || err != nil || len(signature) != sha256.Size {
		return &VerifyError{Reason: "the header " + name + " is not sha256= and 64 hexadecimal digits"}
	}
	secrets, problem := Secrets(secret)
	if problem != "" {
		return &VerifyError{Reason: "the secret " + problem}
	}
	signed := false
	for _, one := range secrets {
		mac := hmac.New(sha256.New, []byte(one))
		mac.Write(body)
		signed = hmac.Equal(mac.Sum(nil), signature) || signed
	}
	if !signed {
		return &VerifyError{Reason: "the signature is not that of the secret and the body"}
	}
	return nil
}
