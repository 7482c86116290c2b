// Package commit is the identity of what is deployed: a repository, perhaps one service of it, and a revision.
package commit

import (
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Commit is what a deployment brings. Both parts may be empty: a notification need not name them.
type Commit struct {
	Part
	Revision string // a SHA, or any other text that identifies the version, such as a tag
}

// Of returns what a Suite names.
func Of(d v1alpha1.Deployment) Commit { return New(d.Repository, d.Service, d.SHA) }

// New returns a commit of a repository, or of one service of it.
func New(repository, service, revision string) Commit {
	return Commit{Part{repository, service}, revision}
}

// Same reports whether both name the same commit of the same service. A whole SHA identifies a commit in every repository, and any other
// revision only in its own. Without a revision, nothing shows that two are the same.
func (c Commit) Same(other Commit) bool { return c.Service == other.Service && c.SameRevision(other) }

// SameRevision is Same for all services together.
func (c Commit) SameRevision(other Commit) bool {
	return EqualRevisions(c.Revision, other.Revision) && (IsSHA(c.Revision) || SameRepository(c.Repository, other.Repository))
}

// EqualRevisions compares revisions of one repository. Without a revision, nothing shows that two are equal.
func EqualRevisions(a, b string) bool { return a != "" && NormalSHA(a) == NormalSHA(b) }

// Covers is Same for abbreviations: tags of images shorten the SHA, and notifications of the same deployment need not all name the
// repository and the service.
func (c Commit) Covers(other Commit) bool {
	return c.Revision != "" && SameSHA(c.Revision, other.Revision) && c.mayBeSameService(other.Part) &&
		(IsSHA(c.Revision) && IsSHA(other.Revision) || MayBeSameRepository(c.Repository, other.Repository))
}

// Part is what is deployed on its own: a service of a repository, or the whole repository. Deployments of two services do not replace each
// other.
type Part struct {
	Repository string // owner/name, or group/subgroup/name, in any spelling
	Service    string // compared exactly; empty: the whole repository, or it is not known which service
}

// PartOf returns a service of a repository.
func PartOf(repository, service string) Part { return Part{repository, service} }

// String names the service and its repository for people, as far as they are known. Anyone may have written the names.
func (p Part) String() string {
	repository, service := plaintext.Line(p.Repository, maxRepository), plaintext.Line(p.Service, maxService)
	switch {
	case service == "":
		return repository
	case repository == "":
		return service
	default:
		return service + " in " + repository
	}
}

// The bounds of the schema, in bytes.
const (
	maxRepository = 256
	maxService    = 128
)

// Key is equal for all spellings of a part.
func (p Part) Key() Part { return Part{RepositoryKey(p.Repository), p.Service} }

// SamePart reports whether both are the same service of the same repository, or the same whole repository.
func (p Part) SamePart(other Part) bool { return p.Key() == other.Key() }

// MayBeSamePart is true also if one of the repositories is not known, or one of the parts is the whole repository, which includes all
// services: what is not known is no reason for green.
func (p Part) MayBeSamePart(other Part) bool {
	return MayBeSameRepository(p.Repository, other.Repository) && p.mayBeSameService(other)
}

// Overlaps reports whether both are of one repository, and of one service or perhaps of one.
func (p Part) Overlaps(other Part) bool {
	return SameRepository(p.Repository, other.Repository) && p.mayBeSameService(other)
}

func (p Part) mayBeSameService(other Part) bool {
	return p.Service == "" || other.Service == "" || p.Service == other.Service
}

// Speaker returns which of some services says what is deployed of a part: its own, or else the whole repository, which has no name.
func (p Part) Speaker(services []string) string {
	if slices.Contains(services, p.Service) {
		return p.Service
	}
	return ""
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
