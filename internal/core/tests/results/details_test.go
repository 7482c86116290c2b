package results_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestTextsDistinguishFailures: the first line of Playwright is the same for each element that is not there.
func TestTextsDistinguishFailures(t *testing.T) {
	uploads := []results.File{{Path: "junit.xml"}}
	for _, folder := range []string{"pays-with-card", "shows-the-total", "says-thanks"} {
		uploads = append(uploads, results.File{Path: "test-results/checkout-" + folder + "-chromium/test-failed-1.png"})
	}
	got := results.Detailed(read(t, "playwright-visible.xml").Failures, uploads)
	for i, locator := range []string{"getByRole('button', { name: 'Pay' })", "getByTestId('total')", "getByText('Thank you, Zoë')"} {
		f := got[i]
		if f.Message != "Error: expect(locator).toBeVisible() failed" || f.TextCut {
			t.Errorf("%q, cut: %v", f.Message, f.TextCut)
		}
		for _, line := range []string{"\n    Locator: " + locator + "\n    Expected: visible\n", "\n         |   ", "attachment #1: screenshot (image/png)"} {
			if !strings.Contains(f.Text, line) {
				t.Errorf("%s lacks %q:\n%s", f.Name, line, f.Text)
			}
		}
		if diff := cmp.Diff([]string{uploads[i+1].Path}, f.Attachments); diff != "" {
			t.Errorf("%s: the video was not uploaded\n%s", f.Name, diff)
		}
	}
}

// details of the only test of a report, which failed.
func details(t *testing.T, failure string) results.Failure {
	t.Helper()
	var tests results.Tests
	tests.Add("reports/x.xml", strings.NewReader(`<testsuite><testcase name="a">`+failure+`</testcase></testsuite>`))
	if len(tests.Failures) != 1 || tests.Problems != nil {
		t.Fatalf("%+v, %q", tests.Failures, tests.Problems)
	}
	return tests.Failures[0]
}

func TestText(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, failure, message, text string
		cut                            bool
	}{
		"A message":            {"A line is enough.", `<failure message="expected 200"/>`, "expected 200", "", false},
		"The same twice":       {"It is said once.", `<failure message="expected 200">expected 200</failure>`, "expected 200", "", false},
		"A body":               {"Its lines keep their indentation.", "<failure>expected 200\n    at a.js:3\n\n  > 3 | x</failure>", "expected 200", "expected 200\n    at a.js:3\n\n  > 3 | x", false},
		"An error":             {"It is a failure.", "<error message='m'>one\ntwo</error>", "m", "one\ntwo", false},
		"A longer message":     {"Its other lines are no part of the body.", "<failure message='one&#10;two'>at a.cs</failure>", "one", "one\ntwo\n\nat a.cs", false},
		"A message in a body":  {"It is said once.", "<failure message='one&#10;two'>one\ntwo\nat a.py</failure>", "one", "one\ntwo\nat a.py", false},
		"Several failures":     {"The first counts.", "<failure>one\ntwo</failure><failure>three\nfour</failure>", "one", "one\ntwo", false},
		"Colours":              {"They are no text.", "<failure><![CDATA[\x1b[31mone\x1b[0m\n#x1B[1mtwo]]></failure>", "one", "one\ntwo", false},
		"Markup":               {"It is text.", "<failure><![CDATA[a\n<script>alert(1)</script>]]></failure>", "a", "a\n<script>alert(1)</script>", false},
		"Control characters":   {"They are left out.", "<failure>one\n\x00b\x07\u202ec&#0;\xff</failure>", "one", "one\nbc\uFFFD\uFFFD", false},
		"As long as it may be": {"Nothing is missing.", "<failure message='m'>" + strings.Repeat("x", 4096) + "</failure>", "m", strings.Repeat("x", 4096), false},
		"Longer":               {"The start is kept.", "<failure message='m'>" + strings.Repeat("x", 4097) + "</failure>", "m", strings.Repeat("x", 4096), true},
		"Runes":                {"None is cut in two.", "<failure message='m'>x" + strings.Repeat("é", 4096) + "</failure>", "m", "x" + strings.Repeat("é", 2047), true},
		"One MiB":              {"The start is kept.", "<failure message='m'>" + strings.Repeat("x", 1<<20) + "</failure>", "m", strings.Repeat("x", 4096), true},
		"One MiB of colours":   {"What follows them is missing.", "<failure message='m'>start" + strings.Repeat("#x1B[31m", 1<<17) + "</failure>", "m", "start#x1", true},
		"Many parts":           {"What follows is missing.", "<failure message='m'>" + strings.Repeat("<![CDATA["+strings.Repeat("#x1B[31m", 128)+"]]>", 32) + "end</failure>", "m", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			got := details(t, tc.failure)
			if got.Message != tc.message || got.Text != tc.text || got.TextCut != tc.cut || !utf8.ValidString(got.Text) {
				t.Errorf("%s\nmessage %q\ntext %q\ncut %v", tc.reason, got.Message, got.Text, got.TextCut)
			}
		})
	}
}

func TestAttachments(t *testing.T) {
	output := func(lines ...string) string {
		return "<failure/><system-out><![CDATA[" + strings.Join(lines, "\n") + "]]></system-out>"
	}
	many := make([]string, 20)
	for i := range many {
		many[i] = fmt.Sprintf("[[ATTACHMENT|%02d.png]]", i)
	}
	for name, tc := range map[string]struct {
		reason, failure, files, want string
	}{
		"Beside the report":     {"Playwright names paths from there.", output("[[ATTACHMENT|files/a.png]]"), "reports/files/a.png files/a.png", "reports/files/a.png"},
		"Above the report":      {"It leads there.", output("[[ATTACHMENT|../files/a.png]]"), "files/a.png reports/files/a.png", "files/a.png"},
		"Above the results":     {"Report and files were copied.", output("[[ATTACHMENT|../../../test-results/t/a.png]]"), "reports/x.xml test-results/t/a.png", "test-results/t/a.png"},
		"Copied into a folder":  {"The end of its path is the same.", output("[[ATTACHMENT|../../test-results/t/a.png]]"), "shard-1/test-results/t/a.png", "shard-1/test-results/t/a.png"},
		"Copied without folder": {"The end of the attachment's path is the same.", output("[[ATTACHMENT|/src/test-results/t/a.png]]"), "t/a.png", "t/a.png"},
		"Only the name":         {"That of another test may be the same.", output("[[ATTACHMENT|/src/test-results/t/a.png]]"), "a.png", ""},
		"Several":               {"Nobody knows which.", output("[[ATTACHMENT|../../t/a.png]]"), "one/t/a.png two/t/a.png", ""},
		"Not uploaded":          {"A link would lead nowhere.", output("[[ATTACHMENT|a.png]]"), "reports/b.png", ""},
		"Windows":               {"It has other separators.", output(`[[ATTACHMENT|files\a.png]]`), "reports/files/a.png", "reports/files/a.png"},
		"Twice":                 {"Once is enough.", output("[[ATTACHMENT|a.png]]", "[[ATTACHMENT|./a.png]]"), "reports/a.png", "reports/a.png"},
		"Too many":              {"The first are kept.", output(many...), "reports/00.png reports/07.png reports/08.png", "reports/00.png reports/07.png"},
		"In a line":             {"A line of its own names an attachment.", output("see [[ATTACHMENT|a.png]]"), "reports/a.png", ""},
		"After much output":     {"Playwright writes them at the end.", output("[[ATTACHMENT|a.png]]", strings.Repeat("log\n", 100_000), "[[ATTACHMENT|b.png]]"), "reports/a.png reports/b.png", "reports/a.png reports/b.png"},
		"Much output, no CDATA": {"It is the same.", "<failure/><system-out>" + strings.Repeat("log\n", 100_000) + "[[ATTACHMENT|b.png]]\n</system-out>", "reports/b.png", "reports/b.png"},
		"Of an attempt":         {"Playwright names attempts.", `<failure/><rerunFailure>` + output("[[ATTACHMENT|a.png]]")[len("<failure/>"):] + `</rerunFailure>`, "reports/a.png", "reports/a.png"},
		"Hostile":               {"No path leads out.", output("[[ATTACHMENT|../../../../etc/passwd]]", "[[ATTACHMENT|..]]", "[[ATTACHMENT|/]]", "[[ATTACHMENT|\x00]]", "[[ATTACHMENT|"+strings.Repeat("a", 600)+"]]"), "reports/x.xml", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var files []results.File
			for _, path := range strings.Fields(tc.files) {
				files = append(files, results.File{Path: path})
			}
			got := results.Detailed([]results.Failure{details(t, tc.failure)}, files)
			if attached := strings.Join(got[0].Attachments, " "); attached != tc.want {
				t.Errorf("%s\n%q", tc.reason, attached)
			}
		})
	}
}

// TestDetailsAreBounded: a document has the texts of the first failures, and says of the others that theirs are missing.
func TestDetailsAreBounded(t *testing.T) {
	var all []results.Failure
	for i := range 1000 {
		all = append(all, results.Failure{TestFailure: v1alpha1.TestFailure{Name: fmt.Sprint(i)}, Text: strings.Repeat("x", 4096), Attachments: []string{"a.png"}})
	}
	all[999].Text = ""
	got := results.Detailed(all, []results.File{{Path: "a.png"}})
	texts := 0
	for i, f := range got {
		texts += len(f.Text)
		if f.TextCut != (f.Text == "" && i < 999) {
			t.Errorf("failure %d has %d bytes; cut: %v", i, len(f.Text), f.TextCut)
		}
	}
	if texts > 1<<20 || texts < 1<<20-3*4096 || got[0].Text == "" {
		t.Errorf("%d bytes of texts", texts)
	}
}

func TestHostileDocument(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	d, err := results.ParseDocument([]byte(`{"unread":0,"reports":1,"failed":1,"passed":2,"flaky":1,"flakyTests":["f\u0007","g"],"passedTests":"short","failures":[{"name":"a","text":"\u001b[31m` +
		`<b>\u0000\ud800` + text + `","attachments":["../a","/b","c/../d","e\u0000","ok.png"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := results.Failure{TestFailure: v1alpha1.TestFailure{Name: "a"}, Text: "<b>\uFFFD" + text[:4096-6], TextCut: true, Attachments: []string{"ok.png"}}
	if diff := cmp.Diff([]results.Failure{want}, d.Failures) + cmp.Diff([]string{"f"}, d.FlakyTests) + cmp.Diff(results.NameSet(""), d.PassedTests); diff != "" {
		t.Error(diff)
	}
}
