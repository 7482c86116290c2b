package junit_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/tests/junit"
)

const (
	head = xml.Header + "<testsuites name=\"Postflight\">\n"
	tail = "</testsuites>\n"

	laughs = `<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;">]><testsuites><testsuite name="&lol2;"/></testsuites>`
)

func merge(t *testing.T, prefix string, reports ...string) (string, junit.Report, error) {
	t.Helper()
	var out bytes.Buffer
	w, err := junit.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	var all []error
	for _, report := range reports {
		_, err := w.Add(strings.NewReader(report), prefix)
		all = append(all, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String(), w.Report, errors.Join(all...)
}

func TestAdd(t *testing.T) {
	long := strings.Repeat("output ", 100_000)
	huge := strings.Repeat("x", 2<<20)
	cases := map[string]struct {
		reports []string
		prefix  string
		want    string // between head and tail
		counts  junit.Report
		says    string // of the error
	}{
		"two reports": {
			reports: []string{
				`<?xml version="1.0"?><testsuites tests="9"><testsuite name="a"><testcase name="x"/></testsuite></testsuites>`,
				`<testsuite name="b"><testcase name="y"><failure message="no">at y</failure></testcase></testsuite>`,
			},
			want: "<testsuite name=\"a\"><testcase name=\"x\"></testcase></testsuite>\n" +
				"<testsuite name=\"b\"><testcase name=\"y\"><failure message=\"no\">at y</failure></testcase></testsuite>\n",
			counts: junit.Report{Tests: 2, Failures: 1},
		},
		"a prefix for the outermost suites": {
			reports: []string{`<testsuites><testsuite name="a"><testsuite name="b"/></testsuite></testsuites>`}, prefix: "smoke: ",
			want: "<testsuite name=\"smoke: a\"><testsuite name=\"b\"></testsuite></testsuite>\n",
		},
		"output with markup": {
			reports: []string{`<testsuite name="&lt;&quot;a&amp;"><system-out><![CDATA[</testsuite><b>&]]></system-out></testsuite>`},
			want:    "<testsuite name=\"&lt;&#34;a&amp;\"><system-out>&lt;/testsuite&gt;&lt;b&gt;&amp;</system-out></testsuite>\n",
		},
		"a failure outside of tests": {
			reports: []string{`<testsuite name="a"><error/><testcase name="x"><error/></testcase></testsuite>`},
			want:    "<testsuite name=\"a\"><testcase name=\"a\"><error></error></testcase><testcase name=\"x\"><error></error></testcase></testsuite>\n",
			counts:  junit.Report{Tests: 2, Failures: 2},
		},
		"failures that are announced": {
			reports: []string{`<testsuites failures="3"><testsuite name="a" failures="1"/></testsuites>`}, prefix: "smoke: ",
			want: "<testsuite failures=\"1\" name=\"smoke: a\"><testcase name=\"a\"><failure message=\"The report announces a failure that it does not list.\"></failure></testcase></testsuite>\n" +
				"<testsuite name=\"smoke\"><testcase name=\"the report\"><failure message=\"The report announces 2 failures that it does not list.\"></failure></testcase></testsuite>\n",
			counts: junit.Report{Tests: 2, Failures: 2},
		},
		"tests without a suite": {
			reports: []string{`<testsuites name="tool"><testcase name="x"/><testsuite name="a"/><testcase name="y"/></testsuites>`}, prefix: "smoke: ",
			want: "<testsuite name=\"smoke\"><testcase name=\"x\"></testcase></testsuite>\n<testsuite name=\"smoke: a\"></testsuite>\n" +
				"<testsuite name=\"smoke\"><testcase name=\"y\"></testcase></testsuite>\n",
			counts: junit.Report{Tests: 2},
		},
		"a failure in the output of a test": {
			reports: []string{`<testsuite><testcase name="x"><system-out>a<failure/></system-out></testcase></testsuite>`},
			want: "<testsuite><testcase name=\"x\"><system-out>a<failure></failure></system-out>" +
				"<failure message=\"The failure is in another element of the test.\"></failure></testcase></testsuite>\n",
			counts: junit.Report{Tests: 1, Failures: 1},
		},
		"namespaces, comments and instructions": {
			reports: []string{`<testsuites xmlns="urn:x" xmlns:y="urn:y"><!-- c --><properties><a/></properties>` +
				`<testsuite y:name="n" name="a" z="b"><?php x?><properties><property name="k"/></properties><y:testcase name="x"/></testsuite></testsuites>`},
			want:   "<testsuite name=\"a\" z=\"b\"><properties><property name=\"k\"></property></properties><testcase name=\"x\"></testcase></testsuite>\n",
			counts: junit.Report{Tests: 1},
		},
		"of a report that is cut, the tests before": {
			reports: []string{`<testsuite name="a"><testcase name="x"/><testcase name="y">`, `<testsuite name="b"></testsuite>`},
			want:    "<testsuite name=\"a\"><testcase name=\"x\"></testcase></testsuite>\n<testsuite name=\"b\"></testsuite>\n", says: "its end is missing",
			counts: junit.Report{Tests: 1},
		},
		"another document": {reports: []string{`<coverage line-rate="1"/>`}, says: junit.ErrNoReport.Error()},
		"an empty file":    {reports: []string{""}, says: junit.ErrEmpty.Error()},
		"no XML":           {reports: []string{"hello"}, says: junit.ErrNoReport.Error()},
		"billion laughs":   {reports: []string{laughs}, want: "<testsuite name=\"&amp;lol2;\"></testsuite>\n"},
		"too deep": {reports: []string{"<testsuite>" + strings.Repeat("<a>", 200)}, want: "<testsuite></testsuite>\n",
			says: "nested too deeply"},
		"too large": {reports: []string{"<testsuite>" + strings.Repeat(" ", junit.MaxReport)}, want: "<testsuite></testsuite>\n",
			says: "larger than 64 MiB"},
		"control characters": {reports: []string{"<testsuite name='a\x1b[2J'/>"}, want: "<testsuite name=\"a\uFFFD[2J\"></testsuite>\n"},
		"a longer text":      {reports: []string{"<testsuite><system-out>" + huge + "the end</system-out></testsuite>"}, want: "<testsuite><system-out>" + huge[:1<<20] + "&#xA;[postflight: the middle of this text was left out]&#xA;" + huge[:4<<10-8] + "the end</system-out></testsuite>\n"},
		"a long text":        {reports: []string{"<testsuite><system-out>" + long + "</system-out></testsuite>"}, want: "<testsuite><system-out>" + long + "</system-out></testsuite>\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, counts, err := merge(t, tc.prefix, tc.reports...)
			if diff := cmp.Diff(head+tc.want+tail, got); diff != "" {
				t.Errorf("the document:\n%s", diff)
			}
			if counts != tc.counts {
				t.Errorf("counted %+v, want %+v", counts, tc.counts)
			}
			if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q", err, tc.says)
			}
		})
	}
}

// TestCopiesAreBounded: a report cannot make a copy that is much larger than itself of a name that its failures repeat.
func TestCopiesAreBounded(t *testing.T) {
	for name, again := range map[string]string{"failures of a suite": "<error/>", "announced failures": `<testsuite failures="1"/>`} {
		report := `<testsuite name="` + strings.Repeat("n", 400_000) + `">` + strings.Repeat(again, 4000) + `</testsuite>`
		if got, counts, err := merge(t, "", report); len(got) > 10*len(report) || counts.Failures != 4000 || err != nil {
			t.Errorf("%s: %d bytes became %d, %+v, %v", name, len(report), len(got), counts, err)
		}
	}
}

func TestAddCase(t *testing.T) {
	var out bytes.Buffer
	w, err := junit.NewWriter(&out)
	if err == nil {
		err = errors.Join(w.AddCase("smoke", "smoke-1", ""), w.AddCase("smoke", "smoke-2", "TimedOut: \"<a>\" \x00"), w.Close())
	}
	const want = head + `<testsuite name="smoke" tests="1" failures="0"><testcase classname="smoke" name="smoke-1"></testcase></testsuite>
<testsuite name="smoke" tests="1" failures="1"><testcase classname="smoke" name="smoke-2">` +
		`<failure message="TimedOut: &#34;&lt;a&gt;&#34; ` + "\uFFFD" + `"></failure></testcase></testsuite>
` + tail
	if diff := cmp.Diff(want, out.String()); diff != "" || err != nil || w.Tests != 2 || w.Failures != 1 {
		t.Errorf("%v, %+v\n%s", err, w.Report, diff)
	}
}

func TestAddProperties(t *testing.T) {
	var out bytes.Buffer
	w, err := junit.NewWriter(&out)
	if err == nil {
		err = errors.Join(w.AddProperties("smoke", []junit.Property{{Name: "postflight.quarantined", Value: `1 "<a>"`}}), w.Close())
	}
	const want = head + `<testsuite name="smoke" tests="0" failures="0"><properties>` +
		`<property name="postflight.quarantined" value="1 &#34;&lt;a&gt;&#34;"/></properties></testsuite>
` + tail
	if diff := cmp.Diff(want, out.String()); diff != "" || err != nil || w.Tests != 0 {
		t.Errorf("%v, %+v\n%s", err, w.Report, diff)
	}
}

// FuzzAdd: whatever the reports are, the document is well-formed.
func FuzzAdd(f *testing.F) {
	f.Add(`<testsuites><testsuite name="a"><testcase name="x"/></testsuite></testsuites>`)
	f.Add(`<a:testsuite xmlns:a="b" c:d="e" xml:lang="de"><f.g-h _i="&#10;"/></a:testsuite>`)
	f.Add(laughs)
	f.Fuzz(func(t *testing.T, report string) {
		got, _, _ := merge(t, "p", report, report)
		d := xml.NewDecoder(strings.NewReader(got))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatalf("%q became %q: %v", report, got, err)
			}
		}
	})
}
