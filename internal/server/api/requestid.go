package api

import (
	"crypto/rand"
	"net/http"
	"regexp"
)

// validRequestID is fit for logs.
var validRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// requestID is the id that the client or a proxy gave the request, if it is valid, or a new one. Logs have it, clients
// print it (eventId), and with a random suffix it ends up in the annotation of the Suite.
func requestID(h http.Header) string {
	if ids := h.Values("X-Request-Id"); len(ids) == 1 && validRequestID.MatchString(ids[0]) {
		return ids[0]
	}
	return rand.Text()
}
