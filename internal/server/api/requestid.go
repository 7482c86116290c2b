package api

import (
	"crypto/rand"
	"net/http"
	"regexp"
)

var validRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// requestID is the id from the client or a proxy if it is valid, which may go into logs, or a new one.
func requestID(h http.Header) string {
	if ids := h.Values("X-Request-Id"); len(ids) == 1 && validRequestID.MatchString(ids[0]) {
		return ids[0]
	}
	return rand.Text()
}
