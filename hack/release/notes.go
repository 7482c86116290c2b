package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const notesName = "release-notes.md"

func (r release) writeNotes(digest v1.Hash) error {
	changelog, err := os.ReadFile(filepath.Join(r.Root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	changes, err := changesOf(string(changelog), r.Version)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s\n\n## Install\n\n```sh\nkubectl apply -f %s\n```\n\nImage: `%s`\n\n"+
		"[Verify it](%s/blob/%s/docs/operations/release.md#verify-a-release) before.\n",
		r.absoluteLinks(changes), r.downloads()+installName, r.reference(digest), repository, r.Version)
	return os.WriteFile(r.path(notesName), []byte(text), 0o644)
}

// changesOf returns the section of a version, with or without a date, or else the unreleased changes.
func changesOf(changelog, version string) (string, error) {
	sections := regexp.MustCompile(`(?m)^## `).Split(changelog, -1)
	for _, name := range []string{version, "Unreleased"} {
		for _, section := range sections[1:] {
			heading, text, _ := strings.Cut(section, "\n")
			if fields := strings.Fields(heading); len(fields) > 0 && fields[0] == name && strings.TrimSpace(text) != "" {
				return strings.TrimSpace(text), nil
			}
		}
	}
	return "", fmt.Errorf("CHANGELOG.md says nothing about %s", version)
}

var relativeLink = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// absoluteLinks makes links to files of the repository work elsewhere.
func (r release) absoluteLinks(text string) string {
	return relativeLink.ReplaceAllString(text, "]("+repository+"/blob/"+r.Version+"/$1$2)")
}
