package failedtests_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// failedOf are the failed tests of a report that a tool wrote.
func failedOf(t *testing.T, tool string) (all []results.FailedTest) {
	t.Helper()
	f, err := os.Open("../results/testdata/" + tool + ".xml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tests := results.Tests{}
	tests.Add("junit.xml", f)
	for _, failure := range tests.Failures {
		all = append(all, results.FailedTest{Name: failure.Name, File: failure.File})
	}
	return all
}

// TestVariables of what the tools wrote. Such ones were tried with Playwright (--list), Jest, Vitest and Go.
func TestVariables(t *testing.T) {
	playwright := func(name string) string { return `(^|\s)` + name + `(\s|$)` }
	for name, tc := range map[string]struct{ tool, variable, want string }{
		"Playwright, two projects": {"playwright", failedtests.PlaywrightVariable, strings.Join([]string{
			playwright(`checkout\.spec\.js\s+checkout\s+pays\s+with\s+card`), playwright(`checkout\.spec\.js\s+checkout\s+breaks`),
			playwright(`checkout\.spec\.js\s+times\s+out`), playwright(`checkout\.spec\.js\s+checkout\s+pays\s+with\s+card( \(2\))?`),
			playwright(`checkout\.spec\.js\s+checkout\s+breaks( \(2\))?`)}, "|")},
		"Jest":                      {"jest", failedtests.JestVariable, `^cart\s+pays\s+with\s+card$|^cart\s+same\s+title( \(2\))?$`},
		"Vitest":                    {"vitest", failedtests.JestVariable, `^cart\s+pays\s+with\s+card$`},
		"pytest":                    {"pytest", failedtests.PytestVariable, "(test_cart and test_pays_with_card) or (test_cart and test_twice[2]) or (test_cart and test_needs) or (test_cart and test_cleans)"},
		"Go, with a broken package": {"go-junit-report", failedtests.GoVariable, ""},
		"Go, repeated":              {"gotestsum", failedtests.GoVariable, "^TestPays$/^with_card$|^TestRecovers$"},
		"files":                     {"mocha", failedtests.CypressVariable, "/src/cart.js"},
		"Jest without files":        {"jest", failedtests.CypressVariable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, failedtests.Variables(failedOf(t, tc.tool))[tc.variable]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNamesOfAllKinds(t *testing.T) {
	long := make([]results.FailedTest, 400)
	for i := range long {
		long[i].Name = fmt.Sprintf("cart.spec.ts > cart › keeps %d items in the cart for a long time", i)
	}
	one := func(name string) []results.FailedTest { return []results.FailedTest{{Name: name, File: name}} }
	for name, tc := range map[string]struct {
		tests          []results.FailedTest
		variable, want string
	}{
		"characters of expressions":  {one(`cart > pays $5.00 "[a|b]" (2)`), failedtests.JestVariable, `^cart\s+pays\s+\$5\.00\s+"\[a\|b\]"( \(2\))?$`},
		"a cut name":                 {one("cart > pays … card"), failedtests.JestVariable, ""},
		"a cut name for Playwright":  {one("cart > pays … card"), failedtests.PlaywrightVariable, ""},
		"a class of pytest":          {one("tests.test_cart.TestCart > test_pays"), failedtests.PytestVariable, "(TestCart and test_pays)"},
		"parameters with spaces":     {one("tests.test_cart > test_pays[a b-1]"), failedtests.PytestVariable, "(test_cart and test_pays)"},
		"an operator of pytest":      {one("tests.not > test_pays"), failedtests.PytestVariable, ""},
		"a module that did not load": {one("tests.test_cart"), failedtests.PytestVariable, ""},
		"a name for no expression":   {one(`tests.test_cart > "or`), failedtests.PytestVariable, ""},
		"a subtest of a subtest":     {one("example.com/cart > TestA/x_(1)/y"), failedtests.GoVariable, `^TestA$/^x_\(1\)$/^y$`},
		"no test of Go":              {one("example.com/cart > [build failed]"), failedtests.GoVariable, ""},
		"a pattern as a file":        {one("cypress/e2e/{a,b}.cy.js"), failedtests.CypressVariable, ""},
		"files with spaces":          {append(one("cypress/e2e/a b.cy.ts"), one("cypress/e2e/c.cy.ts")...), failedtests.CypressVariable, "cypress/e2e/a b.cy.ts,cypress/e2e/c.cy.ts"},
		"a file twice":               {append(one("a.cy.ts"), one("a.cy.ts")...), failedtests.CypressVariable, "a.cy.ts"},
		"too long together":          {long, failedtests.PlaywrightVariable, ""},
		"one without a part":         {append(one("example.com/cart > TestA"), one("?")...), failedtests.GoVariable, ""},
		"a project of Playwright": {one("user/cart.spec.ts > [mobile device] cart › pays (2)"), failedtests.PlaywrightVariable,
			`(^|\s)(mobile\s+device\s+user/cart\.spec\.ts|user/cart\.spec\.ts\s+\[mobile\s+device\])\s+cart\s+pays( \(2\))?(\s|$)`},
		"brackets in a title of Playwright": {one("cart.spec.ts > cart › [a] pays"), failedtests.PlaywrightVariable,
			`(^|\s)cart\.spec\.ts\s+cart\s+\[a\]\s+pays(\s|$)`},
		"an arrow in a title of Playwright": {one("cart.spec.ts > cart › a > b"), failedtests.PlaywrightVariable, `(^|\s)cart\.spec\.ts\s+cart\s+a\s+>\s+b(\s|$)`},
		"no file for Playwright":            {one("cart"), failedtests.PlaywrightVariable, `(^|\s)cart(\s|$)`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failedtests.Variables(tc.tests)[tc.variable]; got != tc.want {
				t.Errorf("%q", got)
			}
		})
	}
	for variable, text := range failedtests.Variables(one(`a.spec.ts > (*+?{2}\x[z]^$|) "'` + "`$(rm)`")) {
		if variable == failedtests.JestVariable || variable == failedtests.PlaywrightVariable {
			if _, err := regexp.Compile(text); err != nil || text == "" {
				t.Errorf("%s: %q %v", variable, text, err)
			}
		}
	}
	if got := failedtests.Names(append(one("a > b"), one("c")...)); got != "a > b\nc\n" {
		t.Errorf("%q", got)
	}
}

// TestDecode: what somebody else wrote into the annotation of a Job is no plan.
func TestDecode(t *testing.T) {
	plan := failedtests.Plan{Of: "r1", Ran: 120, Names: results.SetOf([]string{"a", "b", "c"})}
	if got := failedtests.Decode(plan.Encode()); got == nil || got.Names != plan.Names || got.Ran != 120 {
		t.Fatalf("%+v", got)
	}
	for name, change := range map[string]func(*failedtests.Plan){
		"no run": func(p *failedtests.Plan) { p.Of = "" }, "no names": func(p *failedtests.Plan) { p.Names = "" },
		"half a name": func(p *failedtests.Plan) { p.Names = p.Names[1:] }, "too few": func(p *failedtests.Plan) { p.Ran = 2 },
		"too many": func(p *failedtests.Plan) {
			p.Names = results.NameSet(strings.Repeat(string(p.Names), 200))
			p.Ran = 1000
		},
	} {
		p := plan
		if change(&p); failedtests.Decode(p.Encode()) != nil {
			t.Errorf("%s: it is a plan", name)
		}
	}
	for _, text := range []string{"", "{}", "null", "[", `{"of":7}`} {
		if failedtests.Decode(text) != nil {
			t.Errorf("%q is a plan", text)
		}
	}
}

func TestSentences(t *testing.T) {
	set := func(names ...string) results.NameSet { return results.SetOf(names) }
	for want, p := range map[string]failedtests.Plan{
		"3 failed tests of r1 passed; the other 117 passed there.":         {Of: "r1", Ran: 120, Names: set("a", "b", "c")},
		"1 failed test of r2 passed; the other 119 passed there or in r1.": {Of: "r2", Root: "r1", Ran: 120, Names: set("a")},
		"1 failed test of r1 passed; the other one passed there.":          {Of: "r1", Ran: 2, Names: set("a")},
		"2 failed tests of r1 passed; there were no others.":               {Of: "r1", Ran: 2, Names: set("a", "b")},
	} {
		if got := p.Whole(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	p := failedtests.Plan{Of: "r1", Ran: 9, Names: set("a", "b")}
	if p.Unshown(set("b", "a", "c")) != "" || !strings.Contains(p.Unshown(set("b", "c")), "Of 2 failed tests of r1, 1 did not run here") {
		t.Errorf("%q", p.Unshown(set("b", "c")))
	}
}
