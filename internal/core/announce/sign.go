package announce

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// Signature is the header of the same name of Standard Webhooks: a signature by each key, so that a receiver that has
// the new key accepts the event, and one that has the old key does, too.
func (m Message) Signature() string {
	var all []string
	for _, key := range m.Keys {
		mac := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(mac, "%s.%d.%s", m.ID, m.At.Unix(), m.Body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}
