package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
)

func TestPhaseAndTitle(t *testing.T) {
	cases := map[string]struct {
		suite *v1alpha1.Suite
		phase v1alpha1.ReportPhase
		title string
	}{
		"a new run is queued":             {aSuite(), v1alpha1.ReportQueued, "Queued"},
		"a run that waits is queued":      {aSuite(in(v1alpha1.Queued("1 ahead"))), v1alpha1.ReportQueued, "Queued"},
		"a run with a Job is in progress": {aSuite(in(v1alpha1.Starting(""))), v1alpha1.ReportInProgress, "The tests are running"},
		"a run that runs is in progress":  {aSuite(in(v1alpha1.Running(""))), v1alpha1.ReportInProgress, "The tests are running"},
		"passed without results":          {aSuite(in(v1alpha1.Passed("ok"))), v1alpha1.ReportCompleted, "Passed: ok."},
		"failed, and no test did":         {aSuite(in(v1alpha1.Failed("One pod left no report.")), failed(40, 0)), v1alpha1.ReportCompleted, "Failed: One pod left no report."},
		"failed with results":             {aSuite(in(v1alpha1.Failed("2 of 40 tests failed, 1 of them new.")), failed(40, 2)), v1alpha1.ReportCompleted, "Failed: 2 of 40 tests failed, 1 of them new."},
		"failed without results":          {aSuite(in(v1alpha1.Failed("Container \"test\" exited with code 1."))), v1alpha1.ReportCompleted, `Failed: Container "test" exited with code 1.`},
		"timed out":                       {aSuite(in(v1alpha1.TimedOut("It took longer than 30m."))), v1alpha1.ReportCompleted, "Timed out: It took longer than 30m."},
		"canceled":                        {aSuite(in(v1alpha1.Canceled("By jo."))), v1alpha1.ReportCompleted, "Canceled: By jo."},
		"superseded":                      {aSuite(in(v1alpha1.Superseded("By smoke-2."))), v1alpha1.ReportCompleted, "Superseded: By smoke-2."},
		"not run":                         {aSuite(in(v1alpha1.Error("No Trigger."))), v1alpha1.ReportCompleted, "Could not run: No Trigger."},
		"a message cannot notify a team":  {aSuite(in(v1alpha1.Failed("@acme/owners look\nhere"))), v1alpha1.ReportCompleted, "Failed: (at)acme/owners look; here."},
		"a long message is a short title": {aSuite(in(v1alpha1.Failed(strings.Repeat("é", 500)))), v1alpha1.ReportCompleted, "Failed: " + strings.Repeat("é", 29) + " … " + strings.Repeat("é", 33) + "."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := report.Of(tc.suite, report.Options{})
			if c.Phase != tc.phase || c.Title != tc.title {
				t.Errorf("got %s %q, want %s %q", c.Phase, c.Title, tc.phase, tc.title)
			}
			if len(c.Title) > 140 {
				t.Errorf("the title has %d bytes", len(c.Title))
			}
		})
	}
}

// TestRetriedIsNoFailure: the check of the run that repeats it replaces this one.
func TestRetriedIsNoFailure(t *testing.T) {
	s := aSuite(in(v1alpha1.Error("The node was lost.")))
	if got := report.Of(s, report.Options{}).State; got != v1alpha1.ReasonError {
		t.Errorf("an error is shown as %s", got)
	}
	s.Status.RepeatedBy = "next"
	if got := report.Of(s, report.Options{}); got.State != v1alpha1.ReasonInconclusive || got.Title != "Could not run: The node was lost." {
		t.Errorf("one that is retried is shown as %s, %s", got.State, got.Title)
	}
}

// TestNames: a name stays the same between runs, and those of different Triggers, Environments and clusters differ.
func TestNames(t *testing.T) {
	at := func(trigger, environment string) *v1alpha1.Suite {
		return aSuite(func(s *v1alpha1.Suite) { s.Spec.Trigger.Name, s.Spec.Environment = trigger, environment })
	}
	other := at("smoke", "staging")
	other.Name, other.UID, other.Spec.Attempt, other.Spec.Deployment.Branch = "smoke-2", "u2", 2, "b"
	if a, b := report.Name(at("smoke", "staging"), ""), report.Name(other, ""); a != b || a != "postflight/smoke (staging)" {
		t.Errorf("two runs have the names %q and %q", a, b)
	}
	names := map[string]bool{}
	for _, cluster := range []string{"", "eu", "us"} {
		for _, trigger := range []string{"a", "a-b", "b"} {
			for _, environment := range []string{"a", "a-b", "b"} {
				names[report.Name(at(trigger, environment), cluster)] = true
			}
		}
	}
	if len(names) != 27 || !names["eu/postflight/a-b (b)"] {
		t.Errorf("27 checks have %d names: %v", len(names), names)
	}
}

// TestNamesOfServices: each service of a commit has a check of its own, also if its name is too long for the code host.
func TestNamesOfServices(t *testing.T) {
	long := strings.Repeat("x", 127)
	names := map[string]string{}
	for _, service := range []string{"", "cart", "Cart", "cart checkout", long + "a", long + "b", "@acme/cart", "(at)acme/cart", "(b)"} {
		name := report.Name(aSuite(func(s *v1alpha1.Suite) { s.Spec.Deployment.Service = service }), "")
		if other, taken := names[name]; taken || len(name) > len("postflight/smoke (staging) ")+50 || strings.Contains(name, "@") {
			t.Errorf("%q has the check %q, and %q has the same", service, name, other)
		}
		names[name] = service
	}
	if names["postflight/smoke (staging)"] != "" || names["postflight/smoke (staging) cart"] != "cart" {
		t.Errorf("%v", names)
	}
}

func TestSummary(t *testing.T) {
	s := aSuite(in(v1alpha1.Failed("exit 1")), failed(40, 3))
	got := report.Of(s, report.Options{PublicURL: "https://ci.example.com"})
	want := strings.Join([]string{
		"# Failed: `smoke` on `staging`",
		"",
		"`exit 1.`",
		"",
		"## What to do",
		"",
		"- Start with the new failures, and with what was deployed since the run smoke-0, which did not have them.",
		"- To see whether it lasts, repeat the run: postflight runs rerun smoke-1 -n acme.",
		"",
		"## 3 of 40 tests failed",
		"",
		"1. **New**: `cart › pay` in `e2e/cart.spec.ts:12`: `expected 200, got 503`",
		"2. **Known**: `login`: `time-out`",
		"",
		"and 1 more",
		"",
		"## What was tested",
		"",
		"- Run: `acme/smoke-1`",
		"- Commit: `" + sha + "`",
		"- Branch: `main`",
		"- Deployed at: `https://staging.example.com`",
		"- Asked for by: `Manual`",
		"- Page: <https://ci.example.com/runs/acme/smoke-1>",
		"",
		"[Run](<https://ci.example.com/runs/acme/smoke-1>) · [Log](<https://ci.example.com/runs/acme/smoke-1#log>) · [Test report](<https://ci.example.com/runs/acme/smoke-1#results>)",
		"",
	}, "\n")
	if diff := cmp.Diff(want, got.Summary); diff != "" {
		t.Errorf("the summary (-want +got):\n%s", diff)
	}
	if got.DetailsURL != "https://ci.example.com/runs/acme/smoke-1" || got.ExternalID != "u1" ||
		got.StartedAt != after(30*time.Second) || got.CompletedAt != after(2*time.Minute) {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff([]report.Annotation{{Path: "e2e/cart.spec.ts", Line: 12, Title: "cart › pay", Message: "expected 200, got 503"}}, got.Annotations); diff != "" {
		t.Errorf("the annotations:\n%s", diff)
	}
}

func TestAnnotationsStayInTheRepository(t *testing.T) {
	for file, want := range map[string]string{
		"a/b.go": "a/b.go", "./a/b.go": "a/b.go", "a/../b.go": "b.go", "b.go": "b.go",
		"": "", "/work/b.go": "", "../b.go": "", "a/../../b.go": "", "..": "", ".": "", `a\b.go`: "", "a\nb.go": "", "a\x00b": "", "a\u202eb": "",
	} {
		s := aSuite(in(v1alpha1.Failed("")), failed(2, 1))
		s.Status.Results.Failures = []v1alpha1.TestFailure{{Name: "t", File: file, Line: 3}}
		var got string
		if list := report.Of(s, report.Options{}).Annotations; len(list) > 0 {
			got = list[0].Path
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", file, got, want)
		}
	}
}

// prose is Markdown without its code spans, which begin and end with runs of backticks of equal length.
func prose(markdown string) string {
	var out strings.Builder
	for _, line := range strings.Split(markdown, "\n") {
		for line != "" {
			text, rest, found := strings.Cut(line, "`")
			out.WriteString(text)
			if !found {
				break
			}
			fence := 1 + len(rest) - len(strings.TrimLeft(rest, "`"))
			rest = rest[fence-1:]
			end := closing(rest, fence)
			if end < 0 {
				out.WriteString(strings.Repeat("`", fence))
				line = rest
				continue
			}
			line = rest[end+fence:]
		}
		out.WriteString("\n")
	}
	return out.String()
}

func closing(text string, fence int) int {
	for i := 0; i < len(text); {
		if text[i] != '`' {
			i++
			continue
		}
		run := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		if run == fence {
			return i
		}
		i += run
	}
	return -1
}

var snippets = []string{
	"@acme/owners", "<img src=x onerror=alert(1)>", "[here](https://evil.example.com)", "https://evil.example.com", "www.evil.example.com",
	"` @acme/owners", "``` @acme/owners", "a`b``c @x", "\n# Heading\n\n@x", "| a | b |", "**b** _i_ ~~s~~", "#1 acme/shop#2 5ca1ab1e",
	"<!-- -->", "&lt;b&gt;", "\\` @x", "```\n@x\n```", "\u202e@x", "`", "``", " ` ", "![i](https://evil.example.com/i.png)", ":tada:", "\xff",
}

// markers show that a text is not in a code span.
var markers = []string{"@", "evil", "<img", "Heading", "|", "~~", "#1", "&lt", "tada", "!["}

// harmlessLines is how many lines the summary of the run below has, whatever its texts are.
const harmlessLines = 22

func assertHarmless(t *testing.T, text string) {
	t.Helper()
	s := aSuite(in(v1alpha1.Failed(text)), failed(2, 2))
	s.Spec.Deployment.Branch, s.Spec.Deployment.URL = text, text
	s.Status.Results.Failures = []v1alpha1.TestFailure{{Name: text, File: text, Line: 1, Message: text, History: v1alpha1.FailureNew}}
	c := report.Of(s, report.Options{})
	plain := prose(c.Summary)
	for _, marker := range markers {
		if strings.Contains(plain, marker) {
			t.Errorf("%q puts %q into the text of the summary:\n%s", text, marker, c.Summary)
		}
	}
	if lines := strings.Count(c.Summary, "\n"); lines != harmlessLines {
		t.Errorf("%q adds lines to the summary, which has %d:\n%s", text, lines, c.Summary)
	}
	if strings.ContainsAny(c.Title, "@\n") || !utf8.ValidString(c.Title+c.Summary) {
		t.Errorf("%q makes the title %q", text, c.Title)
	}
}

func TestHostileText(t *testing.T) {
	for _, text := range snippets {
		assertHarmless(t, text)
	}
	if got := prose("a `b` c ``d`e`` f `g"); got != "a  c  f `g\n" {
		t.Fatalf("this test does not see code spans: %q", got)
	}
}

func FuzzHostileText(f *testing.F) {
	for _, text := range snippets {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1024 {
			assertHarmless(t, text)
		}
	})
}

// TestSizes: a Suite whose texts are as long as the schema allows has a check that GitHub accepts.
func TestSizes(t *testing.T) {
	s := aSuite(in(v1alpha1.Failed(strings.Repeat("`", 32768))), failed(1000, 1000))
	s.Spec.Deployment.Branch, s.Spec.Deployment.URL = strings.Repeat("`", 1024), strings.Repeat("u", 2048)
	s.Status.Results.Failures = nil
	for i := range 200 {
		s.Status.Results.Failures = append(s.Status.Results.Failures,
			v1alpha1.TestFailure{Name: fmt.Sprint(i, strings.Repeat("`", 500)), File: strings.Repeat("f", 512), Line: 1, Message: strings.Repeat("é`", 340)})
	}
	c := report.Of(s, report.Options{PublicURL: "https://" + strings.Repeat("h", 220)})
	if len(c.Summary) > 65535 || len(c.Annotations) != 50 || len(c.DetailsURL) > 255 {
		t.Errorf("the summary has %d bytes, and there are %d annotations", len(c.Summary), len(c.Annotations))
	}
	if !strings.Contains(c.Summary, " more\n") {
		t.Error("the summary does not say that failures are left out")
	}
}
