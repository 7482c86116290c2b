package announce

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// Signature is a header of Standard Webhooks. Each key signs, so that receivers accept the event during a key rotation.
func (m Message) Signature() string {
	var all []string
	for _, key := range m.Keys {
		mac := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(mac, "%s.%d.%s", m.ID, m.At.Unix(), m.Body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}
