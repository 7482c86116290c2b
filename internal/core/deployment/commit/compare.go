package commit

import "strings"

// CompareURL returns the URL on GitHub or GitLab that compares two commits of a repository, or "". It is made from the URL of the second.
func CompareURL(commitURL string, from, to Commit) string {
	if from.Revision == "" || to.Revision == "" || from.Same(to) || !SameRepository(from.Repository, to.Repository) {
		return ""
	}
	if base, isCommit := strings.CutSuffix(commitURL, "/commit/"+to.Revision); isCommit {
		return base + "/compare/" + from.Revision + "..." + to.Revision
	}
	return ""
}
