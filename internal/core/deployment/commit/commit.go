// Package commit is the identity of what is deployed: a repository and a revision.
package commit

import (
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Commit is what a deployment brings. Both parts may be empty: a notification need not name them.
type Commit struct {
	Repository string // owner/name, or group/subgroup/name, in any spelling
	Revision   string // a SHA, or any other text that identifies the version, such as a tag
}

// Of returns what a notification or a Suite names.
func Of(d v1alpha1.Deployment) Commit { return Commit{Repository: d.Repository, Revision: d.SHA} }

// Same reports whether both name the same commit. A whole SHA identifies a commit in every repository, and any other revision only in its
// own. Without a revision, nothing shows that two are the same.
func (c Commit) Same(other Commit) bool {
	if c.Revision == "" || NormalSHA(c.Revision) != NormalSHA(other.Revision) {
		return false
	}
	return IsSHA(c.Revision) || SameRepository(c.Repository, other.Repository)
}

// Covers is Same for abbreviations: tags of images shorten the SHA, and notifications of the same deployment need not all name the
// repository.
func (c Commit) Covers(other Commit) bool {
	return c.Revision != "" && SameSHA(c.Revision, other.Revision) &&
		(IsSHA(c.Revision) && IsSHA(other.Revision) || MayBeSameRepository(c.Repository, other.Repository))
}

// SameRepository compares names as GitHub and GitLab do, which ignore case.
func SameRepository(a, b string) bool { return RepositoryKey(a) == RepositoryKey(b) }

// MayBeSameRepository is true also if one of the names is not known.
func MayBeSameRepository(a, b string) bool { return a == "" || b == "" || SameRepository(a, b) }

// RepositoryKey is equal for all spellings of a repository. Names on code hosts are ASCII. Other letters stay as they are, because some,
// such as the sign of the unit Kelvin, would become ASCII.
func RepositoryKey(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// RepositoryMatches reports whether a pattern names a repository: by its full name, or by a beginning and "/*".
func RepositoryMatches(pattern, repository string) bool {
	pattern, repository = RepositoryKey(pattern), RepositoryKey(repository)
	group, all := strings.CutSuffix(pattern, "/*")
	return pattern == repository || all && strings.HasPrefix(repository, group+"/")
}
