package event

import "strings"

// Covers reports whether a list has a repository: by its full name, or by a beginning and "/*". An empty list has all.
func Covers(patterns []string, repository string) bool {
	repository = strings.ToLower(repository)
	for _, pattern := range patterns {
		pattern = strings.ToLower(pattern)
		if group, all := strings.CutSuffix(pattern, "*"); pattern == repository || all && strings.HasPrefix(repository, group) {
			return true
		}
	}
	return len(patterns) == 0
}
