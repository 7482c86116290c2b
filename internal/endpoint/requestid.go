package endpoint

import (
	"crypto/rand"
	"net/http"
)

// requestID is the id that the client or a proxy gave the request, if it is fit for a log, or a new
// one. Clients print it (eventId), so that people can find the lines of the log that belong to it.
func requestID(h http.Header) string {
	if ids := h.Values("X-Request-Id"); len(ids) == 1 && isRequestID(ids[0]) {
		return ids[0]
	}
	return rand.Text()
}

func isRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}
