package flux

import (
	"strings"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

const (
	commitDigits = 40 // Flux knows no repositories of Git with SHA-256
	digestDigits = 64
)

// revision reads what Flux calls a revision. The SHA is a commit, the digest of an artifact, such as sha256:2c26…, or another version,
// such as a chart's. A branch may also be a tag: Flux does not tell them apart.
//
//	main@sha1:5ca1…, sha1:5ca1…, latest@sha256:2c26…, 6.5.4
//	main/5ca1…, HEAD/5ca1…, latest/2c26…  (before Flux 2)
func revision(text string) (branch, sha string) {
	pointer, hash := "", text
	if i := strings.LastIndex(text, "@"); i >= 0 {
		pointer, hash = text[:i], text[i+1:]
	}
	if algorithm, digits, found := strings.Cut(hash, ":"); found {
		if algorithm == "sha1" && isHex(digits, commitDigits) {
			return pointer, digits
		}
		return "", hash
	}
	i := strings.LastIndex(text, "/")
	digits := text[i+1:]
	switch {
	case isHex(digits, commitDigits):
		if pointer = text[:max(i, 0)]; pointer == "HEAD" {
			pointer = ""
		}
		return pointer, digits
	case isHex(digits, digestDigits):
		return "", "sha256:" + digits
	default:
		return "", text
	}
}

func isHex(digits string, n int) bool { return len(digits) == n && commit.IsSHA(digits) }
