package auth

import (
	"net/http"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/access/jwt"
)

// maxTokenBytes bounds a key or token.
const maxTokenBytes = jwt.MaxBytes

// blank is the white space that HTTP allows around and within a header value.
const blank = " \t"

// bearerToken returns the key in the only Authorization header. It is not read from the URL, which ends up in logs.
func bearerToken(h http.Header) (string, bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	credentials := strings.Trim(values[0], blank)
	end := strings.IndexAny(credentials, blank)
	if end < 0 || !strings.EqualFold(credentials[:end], "Bearer") {
		return "", false
	}
	token := strings.Trim(credentials[end:], blank)
	return token, isToken(token)
}

func isToken(text string) bool {
	if text == "" || len(text) > maxTokenBytes {
		return false
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
