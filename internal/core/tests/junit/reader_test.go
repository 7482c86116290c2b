package junit_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/tests/junit"
)

// TestTokens: a reader that keeps four bytes of each text and value.
func TestTokens(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, content string // of a suite
		want            []string
	}{
		"Attributes":      {"They have the order of the report.", `<a y="1" x='2'/>`, []string{"<a [{y 1} {x 2}]>", "</a>"}},
		"Twice":           {"The last value counts.", `<a x="1" x="2"/>`, []string{"<a [{x 2}]>", "</a>"}},
		"None":            {"They are not those of the tag before.", `<a x="1"/><b/>`, []string{"<a [{x 1}]>", "</a>", "<b []>", "</b>"}},
		"As long":         {"Nothing is cut.", `<a x="1234">abcd</a>`, []string{"<a [{x 1234}]>", "abcd", "</a>"}},
		"Long":            {"The ends are cut, and the last bytes of a text are kept.", `<a x="12345">abcdef</a>`, []string{"<a [{x 1234}] cut>", "abcd…abcdef", "</a>"}},
		"Long, and short": {"A text has nothing of the one before.", `<a>abcdef</a><a>g</a>`, []string{"<a []>", "abcd…abcdef", "</a>", "<a []>", "g", "</a>"}},
		"CDATA":           {"Only its whole mark ends it.", `<![CDATA[a]>]]><![CDATA[]]><![CDATA[]]]]>`, []string{"a]>", "]]"}},
		"Only a prefix":   {"Its name is empty.", `<a:/><b:></b:>`, []string{"< []>", "</>", "< []>", "</>"}},
		"Prefixes":        {"A tag loses its prefix, an attribute keeps it.", `<p:a q:x="1"></p:a>`, []string{"<a [{q:x 1}]>", "</a>"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := junit.NewReader(strings.NewReader("<testsuite>"+tc.content+"</testsuite>"), 10, 4)
			var got []string
			for {
				token, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s\n%v", tc.reason, err)
				}
				got = append(got, shown(token))
			}
			want := append(append([]string{"<testsuite []>"}, tc.want...), "</testsuite>")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func shown(t junit.Token) string {
	cut := ""
	if t.Cut {
		cut = " cut"
	}
	switch {
	case t.Kind == junit.Start:
		return fmt.Sprintf("<%s %v%s>", t.Name, t.Attrs, cut)
	case t.Kind == junit.End:
		return fmt.Sprintf("</%s>", t.Name)
	case t.Cut:
		return t.Text + "…" + t.Rest
	default:
		return t.Text
	}
}

// TestManyNames: a report with more names than are shared is read like any other.
func TestManyNames(t *testing.T) {
	var report strings.Builder
	report.WriteString("<testsuite>")
	for i := range 1000 {
		fmt.Fprintf(&report, `<n%d a%[1]d="%[1]d"></n%[1]d>`, i)
	}
	report.WriteString("</testsuite>")
	r := junit.NewReader(strings.NewReader(report.String()), 10, 10)
	n := 0
	for {
		token, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if token.Kind == junit.Start && token.Name != "testsuite" {
			if token.Name != fmt.Sprint("n", n) || token.Attrs.Get(fmt.Sprint("a", n)) != fmt.Sprint(n) {
				t.Errorf("tag %d is %s", n, shown(token))
			}
			n++
		}
	}
	if n != 1000 {
		t.Errorf("%d tags", n)
	}
}
