package commit

import "strings"

// MinSHAPrefix is how many digits name a commit, as Git shortens it: fewer may be a version.
const MinSHAPrefix = 7

// IsSHA reports whether a revision is the whole SHA of a commit: 40 hexadecimal digits, or 64 for SHA-256. Only those get checks.
func IsSHA(revision string) bool {
	return (len(revision) == 40 || len(revision) == 64) && strings.Trim(revision, "0123456789abcdefABCDEF") == ""
}

// NormalSHA returns a revision as Suites have it, so that == compares it: a whole SHA in lower case, other text unchanged.
func NormalSHA(revision string) string {
	if IsSHA(revision) {
		return strings.ToLower(revision)
	}
	return revision
}

// HasSHAPrefix reports whether the revision of a Suite starts with what a user wrote, for a SHA also in upper case.
func HasSHAPrefix(revision, prefix string) bool {
	return strings.HasPrefix(revision, prefix) || IsSHA(revision) && strings.HasPrefix(revision, strings.ToLower(prefix))
}

// SameSHA reports whether two revisions are equal, or one of them is a SHA that begins with the other.
func SameSHA(a, b string) bool {
	a, b = NormalSHA(a), NormalSHA(b)
	return a == b || begins(a, b) || begins(b, a)
}

func begins(sha, prefix string) bool {
	return len(prefix) >= MinSHAPrefix && IsSHA(sha) && HasSHAPrefix(sha, prefix)
}

// ShortSHA is a revision as messages show it: eight digits of a SHA, and other text as it is.
func ShortSHA(revision string) string {
	if IsSHA(revision) {
		return strings.ToLower(revision[:8])
	}
	return revision
}
