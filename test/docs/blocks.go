// Package docs reads what the pages tell people to paste. Its tests do what the pages say, on a real API server.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// Block is a fenced block of a page.
type Block struct {
	Page     string // its path in the repository
	Line     int    // of the opening fence
	Heading  string // above it
	Language string
	Text     string
	File     string // under which the sentence before it, or its first line, says to save it; empty: none
}

// Pages returns the paths of all pages that people read, without those that are generated from the code.
func Pages(t testing.TB) (pages []string) {
	t.Helper()
	root := root(t)
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d os.DirEntry, err error) error {
		page, _ := filepath.Rel(root, path)
		if strings.HasSuffix(page, ".md") && !strings.HasPrefix(page, "docs/reference/") && !strings.HasPrefix(page, "docs/decisions/") {
			pages = append(pages, page)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(pages, "README.md")
}

var (
	fence   = regexp.MustCompile("^( *)```([a-z]*)$")
	heading = regexp.MustCompile(`^#+ (.+)$`)
	saved   = regexp.MustCompile("Save this as `([^`]+)`")
	titled  = regexp.MustCompile(`^# (\w+/[\w/.-]+)`)
)

// Read returns the text of a page, and its blocks in their order.
func Read(t testing.TB, page string) (text string, blocks []Block) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), page))
	if err != nil {
		t.Fatal(err)
	}
	var open *Block
	indent, paragraph, title := "", "", ""
	for i, line := range strings.Split(string(content), "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open != nil && m != nil:
			if file := titled.FindStringSubmatch(open.Text); file != nil {
				open.File = file[1]
			}
			blocks, open, paragraph = append(blocks, *open), nil, ""
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		case m != nil:
			indent, open = m[1], &Block{Page: page, Line: i + 1, Heading: title, Language: m[2]}
			if file := saved.FindStringSubmatch(paragraph); file != nil {
				open.File = file[1]
			}
		case heading.MatchString(line):
			title = heading.FindStringSubmatch(line)[1]
		default:
			paragraph += line + "\n"
		}
	}
	return string(content), blocks
}

func root(t testing.TB) string {
	t.Helper()
	root, err := apiserver.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}
