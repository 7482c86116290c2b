package codehost

import (
	"regexp"
	"strconv"
)

// queueBranch is what GitHub calls the branch of a merge queue, which it makes and deletes: the branch below which the pull request waits,
// its number, and the commit before it.
var queueBranch = regexp.MustCompile(`^gh-readonly-queue/(.+)/pr-([1-9]\d{0,14})-[0-9a-f]{40}$`)

// MergeQueue returns the branch into which GitHub's merge queue merges, and the number of the last pull request of the group.
func MergeQueue(branch string) (base string, pullRequest int64, ok bool) {
	m := queueBranch.FindStringSubmatch(branch)
	if m == nil {
		return "", 0, false
	}
	pullRequest, err := strconv.ParseInt(m[2], 10, 64)
	return m[1], pullRequest, err == nil
}
