package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Plain fails if a text is too long, or has characters that a terminal, a page or a model does not show as they are.
func Plain(t testing.TB, what, shown string, max int) {
	t.Helper()
	if len(shown) > max {
		t.Errorf("%s has %d bytes, want at most %d", what, len(shown), max)
	}
	if !utf8.ValidString(shown) {
		t.Errorf("%s is not valid UTF-8: %.200q", what, shown)
	}
	for _, r := range shown {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			t.Errorf("%s has %U: %.200q", what, r, shown)
			return
		}
	}
}

// JSON fails as Plain does for each string of a document, also the names of its members.
func JSON(t testing.TB, what string, document []byte, max int) {
	t.Helper()
	if len(document) > max {
		t.Errorf("%s has %d bytes, want at most %d", what, len(document), max)
	}
	var value any
	if err := json.Unmarshal(document, &value); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	walk(t, what, value, max)
}

func walk(t testing.TB, what string, value any, max int) {
	t.Helper()
	switch v := value.(type) {
	case string:
		Plain(t, what, v, max)
	case []any:
		for i, one := range v {
			walk(t, fmt.Sprintf("%s[%d]", what, i), one, max)
		}
	case map[string]any:
		for name, one := range v {
			Plain(t, what+", a name", name, max)
			walk(t, what+"."+name, one, max)
		}
	}
}

// Markdown fails if CommonMark, or GitHub, which links bare addresses, would interpret a hostile text in a document: none of these is outside
// of code, and links lead only to addresses with one of the prefixes.
func Markdown(t testing.TB, what, document string, max int, prefixes ...string) {
	t.Helper()
	Plain(t, what, document, max)
	for _, found := range interpreted([]byte(document), prefixes) {
		t.Errorf("%s: %s in:\n%.2000s", what, found, document)
	}
}

// interpreted returns what a reader would see as more than data.
func interpreted(source []byte, prefixes []string) (found []string) {
	allowed := func(to string) bool {
		for _, prefix := range prefixes {
			if strings.HasPrefix(to, prefix) {
				return true
			}
		}
		return false
	}
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.CodeSpan, *ast.CodeBlock, *ast.FencedCodeBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Link:
			if !allowed(string(n.Destination)) {
				found = append(found, fmt.Sprintf("a link to %q", n.Destination))
			}
		case *ast.AutoLink:
			if !allowed(string(n.URL(source))) {
				found = append(found, fmt.Sprintf("a link to %q", n.URL(source)))
			}
		case *ast.Image:
			found = append(found, fmt.Sprintf("an image of %q", n.Destination))
		case *ast.RawHTML, *ast.HTMLBlock:
			found = append(found, "HTML")
		case *ast.Text:
			found = append(found, outside(string(n.Value(source)))...)
		case *ast.String:
			found = append(found, outside(string(n.Value))...)
		}
		return ast.WalkContinue, nil
	})
	return found
}

// outside returns what must not be in a text outside of code: the marker, and names of people and teams.
func outside(text string) (found []string) {
	if strings.Contains(strings.ToLower(text), Marker) {
		found = append(found, fmt.Sprintf("the text %q, which is not in code", text))
	}
	if strings.ContainsRune(text, '@') {
		found = append(found, fmt.Sprintf("the mention %q, which is not in code", text))
	}
	return found
}
