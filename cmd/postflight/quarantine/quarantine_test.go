package quarantine

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/test/clitest"
)

var (
	program        = clitest.Program{New}
	smokeOnStaging = httpapi.Place{Namespace: "acme", Trigger: "smoke", Environment: "staging"}
)

// serveTests knows a flaky test, two tests of the same name, and a test that failed once.
func serveTests(w http.ResponseWriter, r *http.Request) {
	names := []string{"keeps items", "adds", "adds (2)"}
	name := r.URL.Query().Get("name")
	if r.URL.Path == "/api/v0/tests" {
		list := httpapi.TestList{Days: 30, Tests: []httpapi.TestStats{}}
		for _, name := range names {
			list.Tests = append(list.Tests, httpapi.TestStats{Name: name, File: "/ci/tests/cart.spec.ts", Place: smokeOnStaging, Runs: 9, Failed: 3})
		}
		list.Tests = append(list.Tests, httpapi.TestStats{Name: "once", Place: smokeOnStaging, Runs: 9, Failed: 1})
		clitest.Reply(w, http.StatusOK, list)
		return
	}
	if name != "once" && !slices.Contains(names, name) {
		clitest.Fail(w, http.StatusNotFound, "test_not_found", "Test not found: no run of these days has a test of that name.")
		return
	}
	clitest.Reply(w, http.StatusOK, httpapi.TestHistory{Name: name, Days: 30, Places: []httpapi.TestInPlace{{
		Place: smokeOnStaging, Runs: 9, Failed: 3, Passed: 6, Last: []httpapi.TestRun{}, Commits: 7, FailedCommits: 3, FlakyCommits: 2,
	}}})
}

func TestSuggest(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "CODEOWNERS")
	if err := os.WriteFile(file, []byte("*.ts @acme/qa\n/ @nobody\n*.go @acme/go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args     []string
		code     int
		out, log []string
	}{
		"owner of the file": {args: []string{"--codeowners", file}, out: []string{`owner: "@acme/qa"`, `- "keeps items"`, "on 2 of 7 commits"},
			log: []string{"are ignored: 2.", `Left out: "adds" (smoke on staging). Several tests`, `Left out: "adds (2)" (smoke on staging). Several tests`}},
		"owner":        {args: []string{"--owner", "team-a", "--until", "2999-01-01"}, code: 3, log: []string{"at most 90 days"}},
		"no day":       {args: []string{"--until", "tomorrow"}, code: 3, log: []string{`--until "tomorrow" is no day`}},
		"more commits": {args: []string{"--owner", "a", "--min-commits", "3"}, log: []string{"There is no test to quarantine."}},
		"days":         {args: []string{"--days", "91"}, code: 3, log: []string{"from 1 to 90"}},
		"JSON":         {args: []string{"--owner", "a", "-o", "json"}, out: []string{`"kind": "List"`, `"keeps items"`}},
	} {
		t.Run(name, func(t *testing.T) {
			api := &clitest.API{Tests: serveTests}
			api.Start(t)
			out, _ := program.Expect(t, tc.code, tc.out, tc.log, append([]string{"quarantine", "suggest"}, tc.args...)...)
			if strings.Contains(out, "Left out") {
				t.Errorf("standard output has a note: %s", out)
			}
		})
	}
}

func TestOwners(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, text string
		gitlab       bool
		file, want   string
	}{
		"last rule":    {"the last one wins", "* @a\n*.ts @b @c", false, "x/y.ts", "@b @c"},
		"none":         {"no rule matches", "/docs/ @a", false, "x.ts", ""},
		"no owner":     {"a rule without owners takes them away", "* @a\n*.ts", false, "x.ts", ""},
		"folder":       {"all below it", "/tests/ @a", false, "tests/a/b.ts", "@a"},
		"anchored":     {"GitHub's begin at the root", "a/b.ts @a", false, "x/a/b.ts", ""},
		"GitLab's":     {"they match in all folders", "a/b.ts @a", true, "x/a/b.ts", "@a"},
		"sections":     {"each has its owners", "[QA] @qa\n*.ts\n^[Docs][2]\n*.ts @a/b/c\n*.ts @d", false, "x.ts", "@qa @d"},
		"exclusion":    {"GitLab has them", "[QA] @qa\n*\n!*.ts", false, "x.ts", ""},
		"outside":      {"no path leads out of the checkout", "/etc/ @a", false, "../../etc/passwd", "@a"},
		"long":         {"a Quarantine has room for some", "* @" + strings.Repeat("a", 100) + " @" + strings.Repeat("b", 100), false, "x", "@" + strings.Repeat("a", 100)},
		"not valid":    {"code hosts ignore such lines, too", "* @a\n[ab]*.ts @b\n***x @c", false, "a.ts", "@a"},
		"Windows path": {"reports of Windows have them", "/tests/ @a", false, `tests\a.ts`, "@a"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &owners{}
			o.parse(tc.text, tc.gitlab)
			if got := o.of(tc.file); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
