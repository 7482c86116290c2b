// Package jwt reads JSON Web Tokens before they are verified, and the claims of verified ones.
//
// Its reader is stricter than go-jose, which verifies tokens: names are compared exactly, and no object, at any depth, may have two
// members of one name, because readers differ in which of them they take. It also reads tokens whose algorithm is never accepted, so that
// their senders learn what is wrong.
package jwt

import (
	"encoding/base64"
	"strings"
)

// MaxBytes bounds a token. GitHub's have 2 KiB, and GitLab's list up to 200 groups of the person who started the job. All headers of a
// request may have 16 KiB.
const MaxBytes = 8 << 10

// Header returns the header of what looks like a token.
func Header(token string) (Object, bool) { return part(token, 0) }

// Claims returns the claims of what looks like a token. Its header may be anything.
func Claims(token string) (Object, bool) { return part(token, 1) }

func part(token string, n int) (Object, bool) {
	parts := strings.SplitN(token, ".", 4)
	if len(parts) != 3 || len(token) > MaxBytes {
		return Object{}, false
	}
	content, err := base64.RawURLEncoding.Strict().DecodeString(parts[n])
	if err != nil {
		return Object{}, false
	}
	o, err := ReadObject(content)
	return o, err == nil
}
