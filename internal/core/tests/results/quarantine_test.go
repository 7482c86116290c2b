package results_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

var (
	cart    = quarantine.Rule{Name: "flaky-cart", Until: "2026-12-01", Tests: []string{"shop > cart*"}}
	old     = quarantine.Rule{Name: "old", Until: "2026-11-01", Expired: true, Tests: []string{"shop > login"}}
	applied = quarantine.Applied{Rules: []quarantine.Rule{cart, old}}
)

func inQuarantine(t *testing.T, report string) results.Summary {
	t.Helper()
	tests := results.Tests{Quarantines: quarantine.Compile(applied.Rules)}
	if !tests.Add("junit.xml", strings.NewReader(report)) {
		t.Fatal("it is no report")
	}
	s, known := results.ParseMessage(results.Message(tests.Summary()))
	if !known {
		t.Fatal("the message cannot be read")
	}
	s.Apply(applied)
	return s
}

func suiteOf(cases string) string { return `<testsuite name="shop">` + cases + `</testsuite>` }

const (
	failedCart  = `<testcase name="cart"><failure message="timeout"/></testcase>`
	failedLogin = `<testcase name="login"><failure message="500"/></testcase>`
	failedPay   = `<testcase name="pay"><failure message="402"/></testcase>`
	passedHome  = `<testcase name="home"/>`
)

func TestQuarantinedTests(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, cases            string
		failed, quarantined, ran int32
		first, judgment          string // "": it passes
	}{
		"One":              {"it is named", failedCart + passedHome, 1, 1, 1, "shop > cart by flaky-cart", ""},
		"Two":              {"one counts, and comes first", failedCart + failedPay + passedHome, 2, 1, 1, "shop > pay by ", "2 of 3 tests failed, 1 of them quarantined, the first: shop > pay."},
		"Expired":          {"it counts again", failedLogin + passedHome, 1, 0, 0, "shop > login by  expired old", "1 of 2 tests failed: shop > login."},
		"Same name twice":  {"both have it", failedCart + failedCart + passedHome, 2, 2, 2, "shop > cart by flaky-cart", ""},
		"Passed":           {"it ran", `<testcase name="cart"/>` + failedPay, 1, 0, 1, "shop > pay by ", "1 of 2 tests failed: shop > pay."},
		"Skipped":          {"it did not run", `<testcase name="cart"><skipped/></testcase>` + passedHome, 0, 0, 0, "", ""},
		"Only these":       {"nothing else passed", failedCart + `<testcase name="cart 2"/>`, 1, 1, 2, "shop > cart by flaky-cart", "1 test failed in quarantine, and no other test passed"},
		"Outside of tests": {"a Quarantine names tests", `<testsuite name="cart"><failure message="beforeAll"/></testsuite>` + passedHome, 1, 0, 0, "shop > cart by ", "1 of 2 tests failed: shop > cart."},
		"A name of 10 KiB": {"it matches as it is shown", `<testcase name="cart ` + strings.Repeat("x", 10<<10) + `"><failure/></testcase>` + passedHome, 1, 1, 1, "", ""},
		"Hidden text":      {"it matches as it is shown", "<testcase name='\u202ec\u200bart\x1b[31m'><failure/></testcase>" + passedHome, 1, 1, 1, "shop > cart by flaky-cart", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := inQuarantine(t, suiteOf(tc.cases))
			first := ""
			if len(s.Failures) > 0 {
				f := s.Failures[0]
				first = f.Name + " by " + f.Quarantine
				if f.ExpiredQuarantine != "" {
					first += " expired " + f.ExpiredQuarantine
				}
			}
			if s.Failed != tc.failed || s.Quarantined != tc.quarantined || s.QuarantinedRan != tc.ran || tc.first != "" && first != tc.first {
				t.Errorf("%s: %d failed, %d of them and %d in quarantine, first %s", tc.reason, s.Failed, s.Quarantined, s.QuarantinedRan, first)
			}
			judgment := (&results.Collected{Summary: s}).Judge(results.Requirement{})
			if (judgment.Problem == "") != (tc.judgment == "") || !strings.HasPrefix(judgment.Problem, tc.judgment) {
				t.Errorf("%s: %q", tc.reason, judgment.Problem)
			}
		})
	}
}

func TestAppliedQuarantines(t *testing.T) {
	s := inQuarantine(t, suiteOf(failedCart+`<testcase name="cart 2"/>`+failedLogin+passedHome))
	want := []v1alpha1.AppliedQuarantine{{Name: "flaky-cart", Until: "2026-12-01", Tests: 2}, {Name: "old", Until: "2026-11-01", Expired: true, Tests: 1}}
	if diff := cmp.Diff(want, results.Status(s).Quarantines); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	both := results.Merge([]results.Pod{{Name: "a", Index: new(0), Summary: s}, {Name: "b", Index: new(1), Summary: s}})
	if both.Apply(applied); both.Quarantined != 2 || both.Quarantines[0].Tests != 4 {
		t.Errorf("two shards: %+v", both)
	}
}

// TestApplyNothing: a pod cannot quarantine what its Job does not.
func TestApplyNothing(t *testing.T) {
	for name, a := range map[string]quarantine.Applied{"none": {}, "expired": {Rules: []quarantine.Rule{old}}} {
		s := inQuarantine(t, suiteOf(failedCart+passedHome))
		if s.Apply(a); s.Quarantined != 0 || s.QuarantinedRan != 0 || s.Failures[0].Quarantine != "" || s.OnlyQuarantined() {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestUnrepeatedQuarantine: a failure of an earlier attempt that a later one left out is quarantined only if its name is known.
func TestUnrepeatedQuarantine(t *testing.T) {
	earlier := inQuarantine(t, suiteOf(failedCart+failedPay+passedHome))
	last := inQuarantine(t, suiteOf(passedHome))
	attempts := func(s results.Summary) results.Summary {
		return results.Merge([]results.Pod{{Name: "a", Index: new(0), Failed: true, Summary: s}, {Name: "b", Index: new(0), Started: time.Unix(60, 0), Summary: last}})
	}
	if s := attempts(earlier); s.Failed != 2 || s.Quarantined != 1 {
		t.Errorf("%d failed, %d of them quarantined", s.Failed, s.Quarantined)
	}
	nameless := earlier
	nameless.Failures = nil
	if s := attempts(nameless); s.Failed != 2 || s.Quarantined != 0 {
		t.Errorf("without names, %d failed, %d of them quarantined", s.Failed, s.Quarantined)
	}
}

// TestManyQuarantined: of more failures than have names, the counts are right, and those that count are named first.
func TestManyQuarantined(t *testing.T) {
	var cases strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&cases, `<testcase name="cart %d"><failure/></testcase>`, i)
	}
	s := inQuarantine(t, suiteOf(cases.String()+failedPay+passedHome))
	if s.Failed != 100_001 || s.Quarantined != 100_000 || s.OnlyQuarantined() {
		t.Errorf("%d failed, %d of them quarantined", s.Failed, s.Quarantined)
	}
	if judgment := (&results.Collected{Summary: s}).Judge(results.Requirement{}); judgment.Problem == "" {
		t.Error("it passes")
	}
}

// TestHostileQuarantine: what a pod says is within bounds.
func TestHostileQuarantine(t *testing.T) {
	s, _ := results.ParseMessage(`{"reports":1,"unread":0,"passed":3,"failed":2,"outside":1,"quarantined":999,"quarantinedRan":-5,"matched":[-1,9999999,` +
		strings.Repeat("1,", 100) + `1]}`)
	if s.Quarantined != 1 || s.QuarantinedRan != 1 || len(s.Matched) != 20 || s.Matched[0] != 0 || s.Matched[1] > 1_000_000 {
		t.Errorf("%+v", s)
	}
}

// TestQuarantinedInTheLog: the list of all tests says which failures are quarantined, beyond those that have names elsewhere.
func TestQuarantinedInTheLog(t *testing.T) {
	tests := results.Tests{Quarantines: quarantine.Compile(applied.Rules)}
	tests.Add("junit.xml", strings.NewReader(suiteOf(strings.Repeat(failedPay, 1000)+failedCart+`<testcase name="cart passes"/>`+failedLogin)))
	packed, err := gzip.NewReader(bytes.NewReader(tests.Log.Content(nil, time.Time{}, time.Time{}, tests.Counts)))
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for lines := bufio.NewScanner(packed); lines.Scan(); {
		var test httpapi.Test
		if err := json.Unmarshal(lines.Bytes(), &test); err != nil {
			t.Fatal(err)
		}
		if test.Quarantined {
			named = append(named, test.Name)
		}
	}
	if diff := cmp.Diff([]string{"shop > cart"}, named); diff != "" {
		t.Error(diff)
	}
}
