package quarantine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
)

var terms = quarantine.Terms{
	MinCommits: 2, Days: 30, Since: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 12, 10, 0, 0, 0, 0, time.UTC),
}

// flaky failed and passed on 3 of 20 commits.
func flaky(name string, change ...func(*quarantine.Candidate)) quarantine.Candidate {
	c := quarantine.Candidate{Name: name, File: "tests/cart.spec.ts", Owner: "@acme/checkout", TestInPlace: httpapi.TestInPlace{
		Place: httpapi.Place{Namespace: "shop", Trigger: "e2e", Environment: "staging"},
		Runs:  24, Failed: 2, Flaky: 1, Commits: 20, FailedCommits: 3, FlakyCommits: 3,
	}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func failing(runs int) func(*quarantine.Candidate) {
	return func(c *quarantine.Candidate) {
		c.Failing = &httpapi.FailingSince{Runs: runs, First: httpapi.TestRun{SHA: "9c1d2e3", CreatedAt: now}}
	}
}

func TestSuggestChooses(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		candidate quarantine.Candidate
		want      string // the beginning of a sentence; "": it is suggested
	}{
		"flaky":     {"it came and went on three commits", flaky("adds"), ""},
		"on enough": {"two are enough", flaky("adds", func(c *quarantine.Candidate) { c.FlakyCommits = 2 }), ""},
		"once":      {"an outage does that", flaky("adds", func(c *quarantine.Candidate) { c.FlakyCommits = 1 }), "Left out: 1 test that failed or was repeated"},
		"always":    {"it is broken", flaky("adds", failing(3), func(c *quarantine.Candidate) { c.FlakyCommits = 0 }), `"adds" (e2e on staging) failed in its last 3 runs, since 2026-11-26T12:00:00Z, first with commit 9c1d2e3.`},
		"both":      {"it was flaky, and is broken now", flaky("adds", failing(3)), `"adds" (e2e on staging) failed in its last 3 runs`},
		"a bad day": {"flaky tests fail twice in a row", flaky("adds", failing(2)), ""},
		"retried":   {"a Quarantine would change nothing", flaky("adds", func(c *quarantine.Candidate) { c.FailedCommits = 0 }), `Left out: "adds" (e2e on staging). It passed each time`},
		"valid": {"it is quarantined", flaky("adds", func(c *quarantine.Candidate) {
			c.Quarantine = &httpapi.TestQuarantine{Name: "old", Until: "2026-12-01"}
		}), `Left out: "adds" (e2e on staging). Quarantine old names it until 2026-12-01.`},
		"expired":    {"its tests count again", flaky("adds", func(c *quarantine.Candidate) { c.Quarantine = &httpapi.TestQuarantine{Name: "old", Expired: true} }), ""},
		"pattern":    {"it would excuse other tests", flaky("a * b"), `Left out: "a * b" (e2e on staging). Its name has a *`},
		"numbered":   {"the name means another test, too", flaky("adds (2)", func(c *quarantine.Candidate) { c.Numbered = true }), `Left out: "adds (2)" (e2e on staging). Several tests have its name`},
		"own number": {"it is a part of its name", flaky("adds (2)"), ""},
		"bidi":       {"it looks like another test", flaky("cart \u202etrac"), `Left out: "cart \u202etrac" (e2e on staging). Its name is too long`},
		"1 MiB":      {"no Quarantine has such a name", flaky(strings.Repeat("x", 1<<20)), `Left out: "xxx`},
		"no owner":   {"who would repair it?", flaky("adds", func(c *quarantine.Candidate) { c.Owner = "" }), `Left out: "adds" (e2e on staging). No owner is known of its file "tests/cart.spec.ts". Pass --owner`},
		"two lines":  {"no owner has two", flaky("adds", func(c *quarantine.Candidate) { c.Owner = "a\nb" }), `Left out: "adds" (e2e on staging). No owner`},
		"bad place":  {"no Trigger has such a name", flaky("adds", func(c *quarantine.Candidate) { c.Trigger = "*" }), `Left out: "adds" (* on staging). A Quarantine cannot`},
	} {
		t.Run(name, func(t *testing.T) {
			s := quarantine.Suggest([]quarantine.Candidate{tc.candidate}, terms)
			said := strings.Join(slices.Concat(s.Regressions, s.Notes), "\n")
			if !strings.HasPrefix(said, tc.want) || (said == "") != (tc.want == "") || (len(s.Quarantines) == 1) != (tc.want == "") {
				t.Errorf("%s: %d Quarantines, %.300s", tc.reason, len(s.Quarantines), said)
			}
		})
	}
}

func TestSuggestionYAML(t *testing.T) {
	login := func(c *quarantine.Candidate) { c.Owner, c.File, c.FlakyCommits, c.Flaky = "@acme/login", "", 5, 0 }
	all := []quarantine.Candidate{
		flaky("logs in", login), flaky("keeps items"), flaky("adds", func(c *quarantine.Candidate) {
			c.FlakyCommits, c.Quarantine = 2, &httpapi.TestQuarantine{Name: "flaky-cart", Until: "2026-11-20", Expired: true}
		}), flaky("pays", failing(4)),
	}
	got := quarantine.Suggest(all, terms).YAML()
	want := `# Not quarantined, because they look like regressions. "postflight since TEST" compares the commits.
# - "pays" (e2e on staging) failed in its last 4 runs, since 2026-11-26T12:00:00Z, first with commit 9c1d2e3.
apiVersion: postflight.dev/v1alpha1
kind: Quarantine
metadata:
  name: "flaky-e2e-HASH"
  namespace: "shop"
spec:
  triggers: ["e2e"]
  environments: ["staging"]
  tests:
    # Failed and passed on 2 of 20 commits, failed in 2 of 24 runs. Passed when repeated in 1. File: "tests/cart.spec.ts" Quarantine flaky-cart named it until 2026-11-20: delete that one.
    - "adds"
    # Failed and passed on 3 of 20 commits, failed in 2 of 24 runs. Passed when repeated in 1. File: "tests/cart.spec.ts"
    - "keeps items"
  reason: "Each failed and passed on the same commit, on 2 to 3 commits of up to 20 in 30 days."
  owner: "@acme/checkout"
  since: "2026-11-26"
  until: "2026-12-10"
---
apiVersion: postflight.dev/v1alpha1
kind: Quarantine
metadata:
  name: "flaky-e2e-HASH"
  namespace: "shop"
spec:
  triggers: ["e2e"]
  environments: ["staging"]
  tests:
    # Failed and passed on 5 of 20 commits, failed in 2 of 24 runs.
    - "logs in"
  reason: "It failed and passed on the same commit, on 5 of 20 commits in 30 days."
  owner: "@acme/login"
  since: "2026-11-26"
  until: "2026-12-10"
`
	names := map[string]bool{}
	for _, q := range quarantine.Suggest(all, terms).Quarantines {
		names[q.Name] = true
		got = strings.Replace(got, q.Name, "flaky-e2e-HASH", 1)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(names) != 2 {
		t.Errorf("%v: %s", names, diff)
	}
	before := quarantine.Suggest(all, terms).YAML()
	slices.Reverse(all)
	if diff := cmp.Diff(before, quarantine.Suggest(all, terms).YAML()); diff != "" {
		t.Errorf("the order matters: %s", diff)
	}
}

// hostileNames become data, whatever they say.
var hostileNames = []string{
	`say "hello"`, `it's`, "back\\slash", "- a: b", "--- ", "---", "# comment", "{a: b}", "[x]", "&anchor", "!!binary x", "%YAML 1.2", "null", "true", "1e3",
	"<script>alert(1)</script>", "$(rm -rf /)", "{{ .Values.x }}", "a: |", "购物车 > 🛒", "x\ny: z", "x\r\n---\nkind: Secret", "\x1b[2J", "a\u2028b", "\u202etrac",
	"a\u200bb", "a\x00b", "\xff\xfe", strings.Repeat("é", 300), "a*b", "\ufeffx", "~", "\uffff", "=", "<<", "\U000E0041", "trailing ", "a\tb",
}

// TestHostileSuggestion: what is suggested is read back as it was, and comments hold no document.
func TestHostileSuggestion(t *testing.T) {
	var all []quarantine.Candidate
	for i, name := range hostileNames {
		all = append(all,
			flaky(name, func(c *quarantine.Candidate) { c.File = name }),
			flaky(name, failing(3), func(c *quarantine.Candidate) { c.Failing.First.SHA, c.Environment, c.Trigger = name, name, name }),
			flaky(fmt.Sprint("test ", i), func(c *quarantine.Candidate) { c.Owner, c.Environment = name, "owners" }))
	}
	s := quarantine.Suggest(all, terms)
	text := s.YAML()
	var names []string
	for i, document := range strings.Split(text, "\n---\n") {
		var q v1alpha1.Quarantine
		if err := yaml.UnmarshalStrict([]byte(document), &q); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if diff := cmp.Diff(s.Quarantines[i].Quarantine, q); diff != "" {
			t.Error(diff)
		}
		names = append(names, q.Spec.Tests...)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x2028 || r == 0x202e || r == 0x200b }) {
		t.Error("the text has invisible characters")
	}
	for _, refused := range []string{"a*b", "\u202etrac", "x\ny: z", "a\u200bb", "\xff\xfe", "trailing "} {
		if slices.Contains(names, refused) {
			t.Errorf("%q is suggested", refused)
		}
	}
	for _, named := range []string{`say "hello"`, "---", "null", "购物车 > 🛒", "{{ .Values.x }}"} {
		if !slices.Contains(names, named) {
			t.Errorf("%q is not suggested", named)
		}
	}
}

// TestSuggestionNames: a later suggestion of other tests does not replace an earlier one.
func TestSuggestionNames(t *testing.T) {
	nameOf := func(tests ...quarantine.Candidate) string {
		return quarantine.Suggest(tests, terms).Quarantines[0].Name
	}
	long := func(c *quarantine.Candidate) { c.Trigger = strings.Repeat("x", 39) + "-" + strings.Repeat("y", 23) }
	first := nameOf(flaky("a"))
	if second := nameOf(flaky("b")); first == second || first != nameOf(flaky("a")) {
		t.Errorf("%s, then %s", first, second)
	}
	if name := nameOf(flaky("a", long)); len(name) > 63 || strings.Contains(name, "--") {
		t.Error(name)
	}
}

func TestSuggestionBounds(t *testing.T) {
	var all []quarantine.Candidate
	for i := range 251 {
		all = append(all, flaky(fmt.Sprintf("test %03d", i)), flaky(fmt.Sprintf("broken %d", i), failing(3)))
	}
	s := quarantine.Suggest(all, terms)
	if len(s.Quarantines) != 6 || len(s.Quarantines[0].Spec.Tests) != 50 || len(s.Quarantines[5].Spec.Tests) != 1 {
		t.Errorf("%d Quarantines", len(s.Quarantines))
	}
	if len(s.Regressions) != 21 || s.Regressions[20] != "and 231 other tests." {
		t.Errorf("%d regressions, %s", len(s.Regressions), s.Regressions[len(s.Regressions)-1])
	}
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "it would ignore 2 of these") {
		t.Errorf("%q", s.Notes)
	}
}

// TestSuggestedNamesExactly compares tests with what is suggested, as a run does.
func TestSuggestedNamesExactly(t *testing.T) {
	var all []quarantine.Candidate
	for _, name := range hostileNames {
		all = append(all, flaky(name))
	}
	s := quarantine.Suggest(all, terms)
	var objects []v1alpha1.Quarantine
	named := map[string]bool{}
	for _, q := range s.Quarantines {
		objects = append(objects, q.Quarantine)
		for _, test := range q.Spec.Tests {
			named[test] = true
		}
	}
	m := quarantine.Compile(quarantine.For(objects, "e2e", "staging", now).Rules)
	others := slices.Concat(hostileNames, []string{"adds", "---x", "null ", "say hello", "[y]", "a b"})
	for _, name := range others {
		if found := m.Find(name) >= 0; found != named[name] {
			t.Errorf("%q is named: %v", name, found)
		}
	}
	for _, place := range [][2]string{{"smoke", "staging"}, {"e2e", "production"}} {
		if rules := quarantine.For(objects, place[0], place[1], now).Rules; len(rules) > 0 {
			t.Errorf("%v has %d rules", place, len(rules))
		}
	}
	if rules := quarantine.For(objects, "e2e", "staging", terms.Until).Rules; !rules[0].Expired {
		t.Error("it does not end")
	}
}

func TestCheckUntil(t *testing.T) {
	for days, ok := range map[int]bool{-1: false, 0: false, 1: true, 90: true, 91: false} {
		own := terms
		if own.Until = own.Since.AddDate(0, 0, days); (own.CheckUntil() == "") != ok {
			t.Errorf("%d days: %q", days, own.CheckUntil())
		}
	}
}
