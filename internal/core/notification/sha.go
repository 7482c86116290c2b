package notification

import "strings"

// MinSHAPrefix is how many digits name a commit, as Git shortens it: fewer may be a version.
const MinSHAPrefix = 7

// SameSHA reports whether two texts name one commit: they are equal, or one of them is a commit of which the other has the first digits.
func SameSHA(a, b string) bool {
	a, b = NormalSHA(a), NormalSHA(b)
	return a == b || begins(a, b) || begins(b, a)
}

func begins(sha, prefix string) bool {
	return len(prefix) >= MinSHAPrefix && IsCommit(sha) && HasSHAPrefix(sha, prefix)
}

// ShortSHA is a SHA as messages show it: eight digits of a commit, and other text as it is.
func ShortSHA(sha string) string {
	if IsCommit(sha) {
		return strings.ToLower(sha[:8])
	}
	return sha
}
