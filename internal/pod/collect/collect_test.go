package collect_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/test/tier"
)

// report is a JUnit report of 120 tests; the tests with these numbers failed.
func report(failed ...int) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><testsuite name="shop">`)
	for i := range 120 {
		failure := ""
		if slices.Contains(failed, i) {
			failure = `<failure message="expected 200, got 500"/>`
		}
		fmt.Fprintf(&b, `<testcase classname="shop" name="test %d" time="0.5">%s</testcase>`, i, failure)
	}
	return b.String() + `</testsuite>`
}

func TestCollect(t *testing.T) {
	w := newWorld(t)
	screenshot := strings.Repeat("\x89PNG\x00", 1000)
	w.write("junit.xml", report(1, 5, 7))
	w.write("screenshots/größe 100%.png", screenshot)
	w.write("report/index.html", "<html/>")
	w.write("empty", "")
	s := w.collect()
	if s.Problem != "" || s.Files != 4 || s.Tests != 120 || s.Failed != 3 || s.Failures[0].Name != "shop > test 1" ||
		s.Milliseconds != 60_000 {
		t.Errorf("%+v\n%s", s, &w.log)
	}
	if !w.has("junit.xml", report(1, 5, 7)) || !w.has("screenshots/größe 100%.png", screenshot) || !w.has("report/index.html", "<html/>") ||
		!w.has("empty", "") {
		t.Errorf("not byte for byte: %v", w.order)
	}
	if w.asked != 2 {
		t.Errorf("%d requests", w.asked)
	}
	var files []string
	for _, f := range w.document.Files {
		files = append(files, fmt.Sprintf("%s %d", f.Path, f.Bytes))
	}
	want := []string{"empty 0", fmt.Sprintf("junit.xml %d", len(report(1, 5, 7))), "report/index.html 7", "screenshots/größe 100%.png 5000"}
	if diff := cmp.Diff(want, files); diff != "" || w.document.Run != "smoke-2" || len(w.document.Failures) != 3 ||
		w.document.Problems == nil {
		t.Errorf("the document: %s\n%+v", diff, w.document)
	}
}

// TestDocumentExplains: the document has the text of each failure, the attachments that were uploaded, and flaky tests by name.
// TestEveryTest is kept, once, with what its report says, and without what is secret.
func TestEveryTest(t *testing.T) {
	w := newWorld(t)
	w.collector.Secrets = []string{"hunter2hunter2"}
	content := `<testsuite name="cart.spec.ts"><testcase classname="cart.spec.ts" name="keeps items" time="1.25" line="12"/>` +
		`<testcase classname="cart.spec.ts" name="pays with hunter2hunter2" time="-3">` +
		`<failure message="expected 200, got hunter2hunter2">at line 88</failure></testcase>` +
		`<testcase classname="cart.spec.ts" name="ships"><skipped/></testcase>` +
		`<testcase classname="cart.spec.ts" name="keeps items" time="1e9"><flakyFailure/><flakyFailure/></testcase></testsuite>`
	w.write("junit.xml", content)
	w.write("copy.xml", content)
	w.collect()
	if w.tests == nil {
		t.Fatal("no log of tests was uploaded")
	}
	suite := httpapi.Test{Suite: "cart.spec.ts", File: "cart.spec.ts"}
	of := func(change func(*httpapi.Test)) httpapi.Test {
		c := suite
		change(&c)
		return c
	}
	want := []httpapi.Test{
		of(func(c *httpapi.Test) {
			c.Name, c.State, c.Milliseconds, c.Line = "cart.spec.ts > keeps items", "Passed", 1250, 12
		}),
		of(func(c *httpapi.Test) {
			c.Name, c.State, c.Message, c.Text = "cart.spec.ts > pays with ***", "Failed", "expected 200, got ***", "at line 88"
		}),
		of(func(c *httpapi.Test) { c.Name, c.State = "cart.spec.ts > ships", "Skipped" }),
		of(func(c *httpapi.Test) {
			c.Name, c.State, c.Milliseconds, c.Retries = "cart.spec.ts > keeps items", "Flaky", 7*24*3600*1000, 2
		}),
	}
	if diff := cmp.Diff(want, w.tests.Tests); diff != "" || w.tests.LogHeader.Tests != 3 || w.tests.Failed != 1 || w.tests.Cut {
		t.Errorf("%s%+v", diff, w.tests.LogHeader)
	}
}

func TestDocumentExplains(t *testing.T) {
	w := newWorld(t)
	w.write("reports/junit.xml", `<testsuite name="shop"><testcase name="pays"><failure message="expect(locator).toBeVisible() failed">`+
		"Error: expect(locator).toBeVisible() failed\n\n    Locator: getByTestId('x')</failure>"+
		"<system-out>[[ATTACHMENT|../files/a.png]]\n[[ATTACHMENT|../files/gone.png]]</system-out></testcase>"+
		`<testcase name="recovers"><flakyFailure/></testcase></testsuite>`)
	w.write("files/a.png", "png")
	s := w.collect()
	want := results.Failure{
		TestFailure: v1alpha1.TestFailure{Name: "shop > pays", Message: "expect(locator).toBeVisible() failed"},
		Text:        "Error: expect(locator).toBeVisible() failed\n\n    Locator: getByTestId('x')", Attachments: []string{"files/a.png"},
	}
	if diff := cmp.Diff([]results.Failure{want}, w.document.Failures) + cmp.Diff([]string{"shop > recovers"},
		w.document.FlakyTests); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"shop > recovers"}, s.FlakyTests); diff != "" || len(w.document.PassedTests) != 8 ||
		w.document.PassedTests != s.PassedTests {
		t.Errorf("%s%+v", diff, s)
	}
}

func TestNothingToCollect(t *testing.T) {
	w := newWorld(t)
	if s := w.collect(); s.Problem != "" || s.Files != 0 || w.asked != 0 {
		t.Errorf("%+v, %d requests", s, w.asked)
	}
	w = newWorld(t)
	w.collector.Directory = filepath.Join(w.dir, "none")
	if s := w.collect(); s.Problem != "The results directory could not be opened: not readable (no such file or directory)." {
		t.Errorf("%q", s.Problem)
	}
}

func TestNames(t *testing.T) {
	w := newWorld(t)
	secret := filepath.Join(t.TempDir(), "secret")
	for _, err := range []error{
		os.WriteFile(secret, []byte("secret"), 0o600), os.Symlink(secret, filepath.Join(w.dir, "link.xml")), os.Symlink("/etc",
			filepath.Join(w.dir, "folder")),
		os.Symlink("good", filepath.Join(w.dir, "inside")), syscall.Mkfifo(filepath.Join(w.dir, "fifo.xml"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.write("good", "1")
	w.write(".hidden/..a/b..", "2")
	w.write("tab\there", "3")
	w.write(`back\slash`, "4")
	w.write("not-utf8-\xff", "5")
	w.write(strings.Repeat("long/", 110)+"x", "6")
	s := w.collect()
	if s.Unread != 2 { // link.xml and fifo.xml
		t.Errorf("%d may be reports and were not read, want 2", s.Unread)
	}
	if s.Files != 2 || !w.has("good", "1") || !w.has(".hidden/..a/b..", "2") {
		t.Errorf("%+v, %v", s, w.order)
	}
	all := strings.Join(w.document.Problems, "\n")
	for _, reason := range []string{
		"fifo.xml and 3 more were not kept: a link or a special file.", "the path must not contain control characters",
		`the path must separate folders by "/"`, "the path must be valid UTF-8", "the path must be at most 512 bytes long",
	} {
		if !strings.Contains(all, reason) {
			t.Errorf("%q is not among\n%s", reason, all)
		}
	}
	if s.Problem == "" {
		t.Error("the summary says nothing of them")
	}
}

func TestReports(t *testing.T) {
	w := newWorld(t)
	w.write("a.xml", report(1))
	w.write("copy/a.xml", report(1))
	w.write("cut.XML", report()[:2000])
	w.write("coverage.xml", "<coverage/>")
	w.write("junit.json", report())
	w.write("empty.xml", "")
	w.write("laughs.xml",
		`<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"><failure/></testcase></testsuite>`)
	s := w.collect()
	if s.Reports != 3 || s.Unread != 2 || s.Files != 7 || s.Failed != 2 ||
		!strings.Contains(s.Problem, "tests of the report cut.XML could be read: its end is missing.") {
		t.Errorf("%+v", s)
	}
}

func TestCompare(t *testing.T) {
	document := func(failed string) string {
		return `{"reports":1,"passed":119,"failed":1,"failures":[{"name":"` + failed + `"}],"index":` + failed[len(failed)-1:] + `}`
	}
	for name, tc := range map[string]struct {
		reason                    string
		before                    map[string]string
		newFailures, known, fixed int32
		with                      string
	}{
		"No run before": {"Nothing is known.", nil, 0, 0, 0, ""},
		"One pod":       {"Exactly by name.", map[string]string{"a": document("shop > test 5")}, 2, 1, 0, "smoke-1"},
		"Two pods": {"Together they are the run.", map[string]string{"a": document("shop > test 5"), "b": document("shop > test 3")},
			2, 1, 1, "smoke-1"},
		"One of two is gone": {"Its failures would look new.", map[string]string{"a": document("shop > test 5"), "b": ""}, 0, 0, 0, ""},
		"Not a document":     {"Another program wrote it.", map[string]string{"a": "<html/>"}, 0, 0, 0, ""},
		"No pods":            {"There is nothing to compare with.", map[string]string{}, 0, 0, 0, ""},
		"No report in it":    {"There is nothing to compare with.", map[string]string{"a": "{}"}, 0, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.before = tc.before
			w.write("junit.xml", report(1, 5, 7))
			s := w.collect()
			if s.NewFailures != tc.newFailures || s.KnownFailures != tc.known || s.Fixed != tc.fixed || s.ComparedWith != tc.with ||
				s.Problem != "" || s.Files != 1 {
				t.Errorf("%s\n%+v\n%s", tc.reason, s, &w.log)
			}
		})
	}
}

func TestManyFiles(t *testing.T) {
	w := newWorld(t)
	w.collector.Manager += "/" // a slash too many
	const n = 1100
	long := strings.Repeat("l", 240) + "/" + strings.Repeat("o", 240) + "/"
	for i := range n {
		w.write(fmt.Sprintf("%s%04d", long, i), strings.Repeat("x", n-i))
	}
	w.write("junit.xml", report())
	s := w.collect()
	if s.Files != 1000 || !w.has("junit.xml", report()) || !w.has(long+"1099", "x") || w.has(long+"0000", strings.Repeat("x", n)) {
		t.Errorf("%+v, %d objects", s, len(w.objects))
	}
	if !strings.Contains(s.Problem, "and 100 more were not kept: beyond the 1,000 files that are kept of a run.") {
		t.Errorf("%q", s.Problem)
	}
	if w.asked < 3 {
		t.Errorf("%d requests, but one cannot hold all names", w.asked)
	}
}

// TestMemory: a large file passes through little memory, and what is larger than 1 GiB stays.
func TestMemory(t *testing.T) {
	w := newWorld(t)
	size := int64(1 << 30)
	if tier.Gate() {
		size = 128 << 20
	}
	w.sparse("video.webm", size)
	w.sparse("core", 1<<30+1)
	var s results.Summary
	if heap := mostHeap(func() { s = w.collect() }); heap > 32<<20 {
		t.Errorf("%d bytes of memory in use", heap)
	}
	if s.Files != 1 || s.Bytes != size || s.Problem != "core was not kept: larger than 1 GiB." {
		t.Errorf("%+v", s)
	}
}

// mostHeap is the largest heap while f runs.
func mostHeap(f func()) (most uint64) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
		select {
		case <-done:
			return most
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestKilledMeanwhile: whenever the process is killed, the last message tells what is missing.
func TestKilledMeanwhile(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.write("junit.xml", report(1))
		for i := range 20 {
			w.write(fmt.Sprintf("file-%02d", i), "x")
		}
		w.store = func(_ http.ResponseWriter, _ *http.Request, _ int) bool {
			time.Sleep(300 * time.Millisecond)
			return false
		}
		w.collect()
		if len(w.reports) < 3 {
			t.Fatalf("%d reports", len(w.reports))
		}
		for i, s := range w.reports {
			last := i == len(w.reports)-1
			if s.Tests != 120 || s.Failed != 1 || (s.Problem == "") != last || (last && s.Files != 21) {
				t.Errorf("report %d of %d: %+v", i, len(w.reports), s)
			}
		}
		if w.reports[0].Files != 0 || w.reports[len(w.reports)-2].Files == 0 {
			t.Errorf("the files are not counted meanwhile: %+v", w.reports)
		}
	})
}
