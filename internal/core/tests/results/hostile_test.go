package results_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	textunicode "golang.org/x/text/encoding/unicode"

	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/tier"
)

const oneFailed = `<testsuite name="s"><testcase name="größe"/><testcase name="b"><failure message="m"/></testcase></testsuite>`

func encoded(t *testing.T, declared string, encode func(string) (string, error)) string {
	t.Helper()
	text, err := encode(`<?xml version="1.0" encoding="` + declared + `"?>` + oneFailed)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestHostileReports(t *testing.T) {
	utf16 := textunicode.UTF16(textunicode.LittleEndian, textunicode.UseBOM).NewEncoder().String
	utf16BE := textunicode.UTF16(textunicode.BigEndian, textunicode.UseBOM).NewEncoder().String
	bare := textunicode.UTF16(textunicode.LittleEndian, textunicode.IgnoreBOM).NewEncoder().String
	latin1 := charmap.ISO8859_1.NewEncoder().String
	laughs := `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol1 "&lol;&lol;&lol;&lol;"><!ENTITY lol2 "&lol1;&lol1;&lol1;">]>` +
		`<testsuite><testcase name="&lol2;"><failure message="&lol2;">&lol2;</failure></testcase></testsuite>`
	external := `<!DOCTYPE x [<!ENTITY xxe SYSTEM "file:///etc/passwd">]><testsuite><testcase name="a"><error>&xxe;</error></testcase></testsuite>`
	for name, tc := range map[string]struct {
		reason, report               string
		none                         bool // it is not a report
		passed, failed, skipped      int32
		firstName, firstMessage, end string // end of the problem
	}{
		"UTF-16":                    {reason: "Windows writes it.", report: encoded(t, "utf-16", utf16), passed: 1, failed: 1, firstName: "s > b"},
		"UTF-16, big endian":        {reason: "There are two.", report: encoded(t, "utf-16", utf16BE), passed: 1, failed: 1, firstName: "s > b"},
		"UTF-16 without its mark":   {reason: "The first character says it.", report: encoded(t, "utf-16", bare), passed: 1, failed: 1, firstName: "s > b"},
		"Latin-1":                   {reason: "Old tools write it.", report: encoded(t, "ISO-8859-1", latin1), passed: 1, failed: 1, firstName: "s > b"},
		"Latin-1 declared as UTF-8": {reason: "The counts are right, even if a name is not.", report: encoded(t, "utf-8", latin1), passed: 1, failed: 1, firstName: "s > b"},
		"Unknown encoding":          {reason: "The tags are ASCII.", report: encoded(t, "KOI9", latin1), passed: 1, failed: 1, firstName: "s > b"},
		"Mark and spaces first":     {reason: "They are not the root.", report: "\xef\xbb\xbf\n <?xml version='1.0'?>\n<!-- <a> -->" + oneFailed, passed: 1, failed: 1, firstName: "s > b"},
		"Billion laughs":            {reason: "Entities of a DTD are not expanded.", report: laughs, failed: 1, firstName: "&lol2;", firstMessage: "&lol2;"},
		"External entity":           {reason: "Nothing else is read.", report: external, failed: 1, firstName: "a", firstMessage: "&xxe;"},
		"Control characters": {reason: "Test runners copy them from programs.",
			report: "<testsuite><testcase name='a\x00\x1b[31m'><error message='&#27;[1mb&#0;\x07'/><system-out>\x01\xff</system-out></testcase></testsuite>", failed: 1, firstName: "a", firstMessage: "b\uFFFD"},
		"Strange names":             {reason: "A copy has to be well-formed.", report: "<testsuite a&b='1' 2='3' xml:lang='de'><testcase name='a'><x&y z;='1'>text</x&y><größe>text</größe></testcase></testsuite>", passed: 1},
		"Tests without a suite":     {reason: "Node.js writes them.", report: `<testsuites name="tool"><testcase name="a"><failure/></testcase><testsuite name="s"><testcase name="b"/></testsuite><testcase name="c"/></testsuites>`, passed: 2, failed: 1, firstName: "a"},
		"Tests in tests":            {reason: "Each is one.", report: `<testsuite><testcase name="a"><testcase name="b"><failure/></testcase></testcase></testsuite>`, passed: 1, failed: 1, firstName: "a > b"},
		"Tests with data sets":      {reason: "The inner ones have names.", report: `<testsuites><testsuite name="LoginTest" tests="3" failures="1"><testcase name="login" classname="LoginTest"><testcase name="login with data set 0" classname="LoginTest"/><testcase name="login with data set 1" classname="LoginTest"><failure message="403"/></testcase></testcase></testsuite></testsuites>`, passed: 2, failed: 1, firstName: "LoginTest > login with data set 1", firstMessage: "403"},
		"Tests without a class":     {reason: "They have that of the test around.", report: `<testsuite><testcase name="a" classname="C"><testcase name="b"><testcase name="c"><failure/></testcase></testcase><system-out>x</system-out></testcase></testsuite>`, passed: 2, failed: 1, firstName: "C > a > b > c"},
		"A test around that fails":  {reason: "So do both.", report: `<testsuite><testcase name="a"><testcase name="b"><failure/></testcase><failure/></testcase></testsuite>`, failed: 2, firstName: "a > b"},
		"Cut in a test in a test":   {reason: "What has ended counts.", report: `<testsuite><testcase name="a"><testcase name="b"><failure/></testcase><testcase name="c">`, failed: 1, firstName: "a > b", end: "its end is missing."},
		"A test in its output":      {reason: "That is text.", report: `<testsuite><testcase name="a"><system-out><testcase name="b"><failure/></testcase></system-out></testcase></testsuite>`, failed: 1, firstName: "a"},
		"Suites in other elements":  {reason: "They are suites.", report: `<testsuites><group><testsuite name="s"><group><testcase name="a"/></group><testsuites><testcase name="b"/></testsuites></testsuite></group></testsuites>`, passed: 2},
		"Tests in other elements":   {reason: "They are tests.", report: `<testsuites><group><testcase name="a"/></group><error/></testsuites>`, passed: 1, failed: 1, firstName: "(a test without a name)"},
		"Cut after a group":         {reason: "What is open ends.", report: `<testsuites><testsuite name="s"><a><testsuite><testcase name="a"/></testsuite></a><b>text`, passed: 1, end: "its end is missing."},
		"Cut without a suite":       {reason: "What is open ends.", report: `<testsuites><testcase name="a"/><testcase name="b"><error>`, passed: 1, end: "its end is missing."},
		"Prefixes":                  {reason: "A name space does not matter.", report: `<j:testsuite xmlns:j="urn:j"><j:testcase name="a"/></j:testsuite>`, passed: 1},
		"Nested suites":             {reason: "PHPUnit nests them.", report: `<testsuites><testsuite name="a"><testsuite name="b"><testcase name="c"><error/></testcase></testsuite><testcase name="d"/></testsuite></testsuites>`, passed: 1, failed: 1, firstName: "a > b > c"},
		"Two roots":                 {reason: "Some tools append.", report: `<testsuite><testcase name="a"/></testsuite><testsuite><testcase name="b"/></testsuite>`, passed: 2},
		"Several failures":          {reason: "A test fails once.", report: `<testsuite><testcase name="a"><failure message="1"/><error message="2"/><failure/></testcase></testsuite>`, failed: 1, firstName: "a", firstMessage: "1"},
		"Failed and skipped":        {reason: "It failed.", report: `<testsuite><testcase name="a"><skipped/><failure/></testcase></testsuite>`, failed: 1, firstName: "a"},
		"Failure that is marked up": {reason: "Its text counts.", report: `<testsuite><testcase name="a"><failure><b>one<![CDATA[ <two>]]></b></failure></testcase></testsuite>`, failed: 1, firstName: "a", firstMessage: "one <two>"},
		"Output looks like tests":   {reason: "A failure in the output of a test is none.", report: `<testsuite><system-out><![CDATA[<testcase name="x"><failure/>]]></system-out><testcase name="a"><system-out>&lt;failure/&gt;</system-out></testcase></testsuite>`, passed: 1},
		"Disabled":                  {reason: "GoogleTest lists tests that it does not run.", report: `<testsuite><testcase name="a" status="notrun"/></testsuite>`, skipped: 1},
		"Empty names":               {reason: "A test without a name is a test.", report: `<testsuite><testcase/><testcase name="" classname=""><failure/></testcase></testsuite>`, passed: 1, failed: 1, firstName: "(a test without a name) (2)"},
		"The same name":             {reason: "Those of a table are different tests.", report: `<testsuite><testcase name="a"/><testcase name="a"><failure/></testcase></testsuite>`, passed: 1, failed: 1, firstName: "a (2)"},
		"Failure of a suite":        {reason: "What comes before all tests of a suite failed.", report: `<testsuites><testsuite name="cart"><error message="beforeAll: no database"/><testcase name="a"/></testsuite></testsuites>`, passed: 1, failed: 1, firstName: "cart", firstMessage: "beforeAll: no database"},
		"Failure of an inner suite": {reason: "Its path names it.", report: `<testsuite name="a"><testsuite name="b"><failure>first<failure/></failure><failure>second</failure></testsuite></testsuite>`, failed: 2, firstName: "a > b", firstMessage: "first"},
		"Failure of all suites":     {reason: "It has no name.", report: `<testsuites><error message="no config"/></testsuites>`, failed: 1, firstName: "(a test without a name)", firstMessage: "no config"},
		"Strange times":             {reason: "They are no time.", report: `<testsuite><testcase name="a" time="-1"/><testcase name="b" time="NaN"/><testcase name="c" time="1e999"/><testcase name="d" time="soon"/></testsuite>`, passed: 4},
		"Wrong totals":              {reason: "Tests are counted, not believed.", report: `<testsuites tests="9" failures="-9"><testsuite tests="-1" errors="x"><testcase name="a"/></testsuite></testsuites>`, passed: 1},
		"Failures that are missing": {reason: "Something cut them out.", report: `<testsuites tests="9" failures="9"><testsuite tests="1"><testcase name="a"/></testsuite></testsuites>`, passed: 1, failed: 1, firstName: "the report", firstMessage: "The report announces 9 failures that it does not list."},
		"One of them missing":       {reason: "Each suite says so, and it counts once.", report: `<testsuites failures="2"><testsuite name="s" failures="1" errors="1"><testcase name="a"><failure/></testcase></testsuite></testsuites>`, failed: 2, firstName: "s > a"},
		"A number that is cut":      {reason: "It might mean another one.", report: `<testsuite failures="` + strings.Repeat("0", 8191) + `5x"><testcase name="x"/></testsuite>`, passed: 1},
		"A number that is long":     {reason: "It might have been cut.", report: `<testsuite failures="` + strings.Repeat("0", 8191) + `05"><testcase name="x"/></testsuite>`, passed: 1},
		"Failures of one test":      {reason: "It failed, and so did its teardown.", report: `<testsuite failures="1" errors="1"><testcase name="a"><failure/><error/></testcase></testsuite>`, failed: 1, firstName: "a"},
		"Announced and repeated":    {reason: "It passed in the end.", report: `<testsuite failures="1"><testcase name="a"><flakyFailure/></testcase></testsuite>`, passed: 1},
		"Huge line":                 {reason: "It fits no line.", report: `<testsuite><testcase name="a" file="f" line="99999999999"><failure/></testcase></testsuite>`, failed: 1, firstName: "a"},
		"Long name":                 {reason: "A name is bounded.", report: `<testsuite><testcase name="` + strings.Repeat("n", 100_000) + `"/></testsuite>`, passed: 1},

		"Cut in a test":       {reason: "The tests before count.", report: `<testsuite><testcase name="a"/><testcase name="b"><failure mess`, passed: 1, end: "Only the first 1 tests of the report x.xml could be read: its end is missing."},
		"Cut in a text":       {reason: "The tests before count.", report: `<testsuite><testcase name="a"/><system-out><![CDATA[some`, passed: 1, end: "its end is missing."},
		"Cut between tests":   {reason: "The end of the root is missing.", report: `<testsuite><testcase name="a"/>`, passed: 1, end: "its end is missing."},
		"Cut at once":         {reason: "It was a report.", report: `<testsuites>`, end: "No test of the report x.xml could be read: its end is missing."},
		"Wrong end":           {reason: "It is no XML from here on.", report: `<testsuite><testcase name="a"/></testcase><testcase name="b"/></testsuite>`, passed: 1, end: "its XML is broken."},
		"Bare bracket":        {reason: "It is no XML from here on.", report: `<testsuite><testcase name="a"/><testcase name="b">1 < 2</testcase></testsuite>`, passed: 1, end: "its XML is broken."},
		"Attribute unquoted":  {reason: "It is no XML from here on.", report: `<testsuite><testcase name="a"/><testcase name=b/></testsuite>`, passed: 1, end: "its XML is broken."},
		"Deep":                {reason: "Nothing real is so deep.", report: `<testsuite><testcase name="a"/>` + strings.Repeat("<testsuite>", 1_000_000), passed: 1, end: "its elements are nested too deeply."},
		"Endless name":        {reason: "No tag is so long.", report: `<testsuite><testcase name="a"/><` + strings.Repeat("n", 1_000_000), passed: 1, end: "its XML is broken."},
		"A suite and no test": {reason: "It is a report.", report: `<testsuite/>`},

		"Other root":    {reason: "It is no XML from there on.", report: oneFailed + `<coverage/>`, passed: 1, failed: 1, firstName: "s > b", end: "its XML is broken."},
		"Only a mark":   {reason: "It may have become a report.", report: "\ufeff", none: true, end: "it ends before its first element."},
		"Mark, prolog":  {reason: "It may have become a report.", report: "\ufeff<?xml version=\"1.0\"?>", none: true, end: "it ends before its first element."},
		"Empty":         {reason: "It may have become a report.", none: true, end: "it ends before its first element."},
		"HTML":          {reason: "It is something else.", report: `<!DOCTYPE html><html><body><testsuite></body></html>`, none: true},
		"Other XML":     {reason: "It is something else.", report: `<?xml version="1.0"?><coverage><testcase name="a"/></coverage>`, none: true},
		"Binary":        {reason: "It is something else.", report: "PK\x03\x04\x00<\x00\xff", none: true},
		"Only a prolog": {reason: "There is no root.", report: `<?xml version="1.0"?><!-- testsuite -->`, none: true, end: "it ends before its first element."},
		"Endless DTD":   {reason: "There is no root.", report: "<!DOCTYPE x [" + strings.Repeat("<!ENTITY a 'b'>", 100_000), none: true, end: "it ends before its first element."},
	} {
		t.Run(name, func(t *testing.T) {
			var tests results.Tests
			if got := tests.Add("x.xml", strings.NewReader(tc.report)); got == tc.none {
				t.Fatalf("%s\nA report: %v", tc.reason, got)
			}
			c := tests.Counts
			if c.Passed != tc.passed || c.Failed != tc.failed || c.Skipped != tc.skipped || c.Tests != tc.passed+tc.failed+tc.skipped {
				t.Errorf("%s\n%+v", tc.reason, c)
			}
			if problem := strings.Join(tests.Problems, " "); (problem == "") != (tc.end == "") || !strings.HasSuffix(problem, tc.end) {
				t.Errorf("%s\nthe problem: %q", tc.reason, problem)
			}
			if len(tests.Failures) != int(tc.failed) {
				t.Fatalf("%s\n%+v", tc.reason, tests.Failures)
			}
			if tc.failed > 0 && (tests.Failures[0].Name != tc.firstName || (tc.firstMessage != "" && tests.Failures[0].Message != tc.firstMessage)) {
				t.Errorf("%s\n%+v", tc.reason, tests.Failures[0])
			}
			agree(t, strings.NewReader(tc.report), &tests)
		})
	}
}

func TestSeveralReports(t *testing.T) {
	var tests results.Tests
	for _, report := range []struct{ path, content string }{
		{"a.xml", oneFailed}, {"copy of a.xml", oneFailed}, {"b.xml", oneFailed + " "}, {"c.xml", "<html/>"},
	} {
		tests.Add(report.path, strings.NewReader(report.content))
	}
	if c := tests.Counts; c.Reports != 2 || c.Tests != 4 || c.Failed != 2 {
		t.Errorf("a copy of a report counts once, and two reports twice: %+v", c)
	}
	if len(tests.Failures) != 2 || tests.Failures[1].Name != "s > b (2)" {
		t.Errorf("the same name in two reports: %+v", tests.Failures)
	}
}

// endless is a report with tests without end.
type endless struct{ test, rest string }

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.test
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		test, problem string
		tests         int32
		failures      int
	}{
		"Too many tests":    {`<testcase name="a" classname="c"/>`, "Only the first 200000 tests of the report x.xml could be read: there are too many tests.", 200_000, 0},
		"Too many failures": {`<testcase name="a"><failure message="m"/></testcase>`, "Only the first 200000 tests of the report x.xml could be read: there are too many tests.", 200_000, 1000},
		"Too large":         {`<testcase name="a"/><system-out>` + strings.Repeat("x", 1<<20) + `</system-out>`, "it is larger than 64 MiB.", 64, 0},
		"An endless text":   {strings.Repeat("x", 4096), "No test of the report x.xml could be read: it is larger than 64 MiB.", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var tests results.Tests
			before := allocated()
			tests.Add("x.xml", io.MultiReader(strings.NewReader("<testsuite>"), &endless{test: tc.test}))
			if kept := allocated() - before; kept > 32<<20 {
				t.Errorf("%d bytes of memory are kept", kept)
			}
			if tests.Counts.Tests != tc.tests || len(tests.Failures) != tc.failures || !strings.HasSuffix(strings.Join(tests.Problems, " "), tc.problem) {
				t.Errorf("%+v, %d failures, %q", tests.Counts, len(tests.Failures), tests.Problems)
			}
			runtime.KeepAlive(&tests)
			agree(t, io.MultiReader(strings.NewReader("<testsuite>"), &endless{test: tc.test}), &tests)
		})
	}
}

// measured knows how much memory was in use when so many bytes had been read.
type measured struct {
	io.Reader
	left int
	used int64
}

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if m.left -= n; m.left <= 0 && m.used == 0 {
		m.used = allocated()
	}
	return n, err
}

// TestMemoryOfFailures: of very many failures in one report, only those that are kept take memory.
func TestMemoryOfFailures(t *testing.T) {
	test := `<testcase name="a"><failure message="` + strings.Repeat("no ", 100) + `"/></testcase>`
	size := 60 << 20
	if tier.Gate() {
		size = 8 << 20
	}
	m := &measured{Reader: io.LimitReader(io.MultiReader(strings.NewReader("<testsuite>"), &endless{test: test}), int64(size)+1<<20), left: size}
	var tests results.Tests
	before := allocated()
	tests.Add("x.xml", m)
	if used := m.used - before; used > int64(size)/2 || m.used == 0 || len(tests.Failures) != 1000 {
		t.Errorf("%d bytes of memory are used for %d failures", used, len(tests.Failures))
	}
}

func allocated() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// broken is a file on a disk that fails.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("read /secret/path: input/output error")
	}
	return n, err
}

func TestReadError(t *testing.T) {
	var tests results.Tests
	tests.Add("x.xml", broken{strings.NewReader(`<testsuite><testcase name="a"/>`)})
	if want := []string{"Only the first 1 tests of the report x.xml could be read: reading it failed."}; !slices.Equal(tests.Problems, want) || tests.Counts.Tests != 1 {
		t.Errorf("%q, %+v", tests.Problems, tests.Counts)
	}
}

// FuzzReport: whatever a file holds, what is read of it is fit for a status, and counts agree.
func FuzzReport(f *testing.F) {
	all, err := filepath.Glob("testdata/*.xml")
	if err != nil || len(all) == 0 {
		f.Fatal("no reports", err)
	}
	for _, name := range all {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add([]byte("")) // it may have become a report
	f.Add([]byte("<testsuite name='s'><failure>a\n\x1b[1mb</failure><testcase name='c'><failure/><system-out>[[ATTACHMENT|../d.png]]\n</system-out></testcase></testsuite>"))
	f.Add([]byte("<!DOCTYPE a [<!ENTITY b '&c;'>]><testsuite><testcase name='&b;'><![CDATA[x]]></testcase></testsuite>"))
	f.Fuzz(func(t *testing.T, report []byte) {
		var tests results.Tests
		isReport := tests.Add("x.xml", bytes.NewReader(report))
		agree(t, bytes.NewReader(report), &tests)
		if !isReport {
			if c := tests.Counts; c != (results.Counts{Unread: c.Unread}) || len(tests.Problems) != int(c.Unread) || c.Unread > 1 {
				t.Errorf("what is no report counts: %+v, %q", c, tests.Problems)
			}
			return
		}
		c := tests.Counts
		if c.Tests != c.Passed+c.Failed+c.Skipped || c.Flaky > c.Passed || len(tests.Failures) != int(min(c.Failed, 1000)) || c.Milliseconds < 0 {
			t.Errorf("the counts disagree: %+v, %d failures", c, len(tests.Failures))
		}
		unfit := func(text string, limit int) bool {
			return len(text) > limit || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
		}
		for _, f := range tests.Failures {
			inBlock := strings.NewReplacer("\n", "", "\t", "").Replace(f.Text)
			if len(f.Text) > 4096 || unfit(inBlock, 4096) || len(f.Attachments) > 8 {
				t.Errorf("not fit for a document: %+v", f)
			}
			if f.Name == "" || unfit(f.Name, 512) || unfit(f.File, 512) || unfit(f.Message, 1024) || f.Line < 0 {
				t.Errorf("not fit for a status: %+v", f)
			}
		}
	})
}

func BenchmarkReport(b *testing.B) {
	var report bytes.Buffer
	report.WriteString(`<?xml version="1.0"?><testsuites><testsuite name="bench">`)
	const n = 100_000
	for i := range n {
		fmt.Fprintf(&report, `<testcase classname="tests/checkout.spec.ts" name="checkout > pays with card %d" time="0.125">`, i)
		if i%100 == 0 {
			report.WriteString("<failure message=\"expected 200, got 500\">at tests/checkout.spec.ts:12:3\n</failure>")
		}
		report.WriteString("<system-out><![CDATA[a line of output\n]]></system-out></testcase>\n")
	}
	report.WriteString(`</testsuite></testsuites>`)
	b.SetBytes(int64(report.Len()))
	for b.Loop() {
		var tests results.Tests
		tests.Add("x.xml", bytes.NewReader(report.Bytes()))
		if tests.Counts.Tests != n {
			b.Fatal(tests.Counts)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "tests/s")
}
