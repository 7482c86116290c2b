package event

import (
	"slices"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// Covers reports whether a list has a repository: by its full name, or by a beginning and "/*". An empty list has all.
func Covers(patterns []string, repository string) bool {
	covers := func(pattern string) bool { return commit.RepositoryMatches(pattern, repository) }
	return len(patterns) == 0 || slices.ContainsFunc(patterns, covers)
}
