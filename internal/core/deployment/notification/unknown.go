package notification

import (
	"fmt"
	"slices"
	"strings"
)

// members are the names that Decode knows.
var members = []string{
	"branch", "sha", "deployment_type", "deployment_url", "hosting_service",
	"commit_url", "commit_message", "commit_author", "variables", "deduplication_key",
	"ephemeral_environment", "repository", "service", "pull_request_number", "merge_request_number", "pipeline_id",
}

// maxUnknown bounds the unknown members that a Hint names: a client may send the whole context of a workflow.
const maxUnknown = 5

// Hint returns sentences about members that Decode did not know, perhaps because they are misspelled, or "".
func (n *Notification) Hint() string {
	sentences := make([]string, 0, maxUnknown)
	for _, name := range n.Unknown {
		sentence := fmt.Sprintf("The member %s is unknown and was ignored.", quote(name))
		if near := nearest(name); near != "" {
			sentence = fmt.Sprintf("The member %s is unknown and was ignored: did you mean %q?", quote(name), near)
		}
		sentences = append(sentences, sentence)
	}
	return strings.Join(sentences, " ")
}

func (d *decoder) unknown(name string) error {
	if len(d.n.Unknown) < maxUnknown && name != "" {
		d.n.Unknown = append(d.n.Unknown, name)
	}
	return d.skip()
}

// nearest returns the member that a name probably stands for, or "". Spelling it in capitals, in camel case or with hyphens is no distance.
func nearest(name string) string {
	if len(name) > maxQuoted {
		return ""
	}
	plain := plainName(name)
	distance := func(member string) int { return editDistance(plain, plainName(member)) }
	near := slices.MinFunc(members, func(a, b string) int { return distance(a) - distance(b) })
	if distance(near) > len(near)/3 { // of "sha", one letter may differ
		return ""
	}
	return near
}

func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// editDistance is Levenshtein's: how many bytes to insert, delete or replace.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1) // of the bytes of a so far
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
