// Reference writes docs/reference: the flags of the programs in bin, the fields of the CRDs, and the routes of the OpenAPI document.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(tree string) error {
	const programs = "bin"
	folder := filepath.Join(tree, "docs/reference")
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // pages are public
		return err
	}
	for name, page := range map[string]func() (string, error){
		"manager.md":    func() (string, error) { return managerPage(programs) },
		"postflight.md": func() (string, error) { return commandLinePage(programs) },
		"objects.md":    func() (string, error) { return objectsPage(filepath.Join(tree, "config/crd/bases")) },
		"http.md":       func() (string, error) { return httpPage("internal/server/api/openapi.yaml") },
	} {
		text, err := page()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil { //nolint:gosec // a page is public
			return err
		}
	}
	return nil
}

// cell is a text as a cell of a table: on one line, with paragraphs that stay apart, and without markup of HTML.
func cell(text string) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(p), " ")
	}
	return strings.ReplaceAll(prose(strings.Join(paragraphs, "<br>")), "|", `\|`)
}

// prose escapes what looks like HTML outside of code, except for line breaks.
func prose(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(parts[i], "<", "&lt;"), "&lt;br>", "<br>")
	}
	return strings.Join(parts, "`")
}
