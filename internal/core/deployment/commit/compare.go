package commit

import "strings"

// CompareURL returns a URL that compares two commits of a repository, made from the URL of the second, as GitHub and GitLab have them, or "".
func CompareURL(commitURL string, from, to Commit) string {
	if from.Revision == "" || to.Revision == "" || from.Same(to) || !SameRepository(from.Repository, to.Repository) {
		return ""
	}
	if base, isCommit := strings.CutSuffix(commitURL, "/commit/"+to.Revision); isCommit {
		return base + "/compare/" + from.Revision + "..." + to.Revision
	}
	return ""
}
