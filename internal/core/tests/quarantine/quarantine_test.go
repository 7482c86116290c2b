package quarantine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func aQuarantine(name string, change ...func(*v1alpha1.Quarantine)) v1alpha1.Quarantine {
	q := v1alpha1.Quarantine{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 3}, Spec: v1alpha1.QuarantineSpec{
		Triggers: []string{"e2e"}, Tests: []string{"cart > keeps items"}, Since: "2026-11-20", Until: "2026-12-01",
	}}
	for _, c := range change {
		c(&q)
	}
	return q
}

func days(since, until string) func(*v1alpha1.Quarantine) {
	return func(q *v1alpha1.Quarantine) { q.Spec.Since, q.Spec.Until = since, until }
}

func naming(tests ...string) func(*v1alpha1.Quarantine) {
	return func(q *v1alpha1.Quarantine) { q.Spec.Tests = tests }
}

func of(triggers, environments []string) func(*v1alpha1.Quarantine) {
	return func(q *v1alpha1.Quarantine) { q.Spec.Triggers, q.Spec.Environments = triggers, environments }
}

func TestState(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, since, until string
		at                   time.Time
		want                 quarantine.State
		next                 time.Duration
	}{
		"Valid":          {"between both", "2026-11-20", "2026-12-01", now, quarantine.Valid, 108 * time.Hour},
		"First moment":   {"since is included", "2026-11-26", "2026-12-01", now.Truncate(24 * time.Hour), quarantine.Valid, 120 * time.Hour},
		"Last moment":    {"until is not", "2026-11-20", "2026-11-26", now.Truncate(24 * time.Hour), quarantine.Expired, 0},
		"A moment later": {"it has to begin", "2026-11-27", "2026-12-01", now, quarantine.Later, 12 * time.Hour},
		"90 days":        {"the longest", "2026-11-26", "2027-02-24", now, quarantine.Valid, 90*24*time.Hour - 12*time.Hour},
		"91 days":        {"an old schema accepted it", "2026-11-26", "2027-02-25", now, quarantine.Invalid, 0},
		"Far ahead":      {"bumping until alone does not renew it", "2026-09-01", "2027-01-01", now, quarantine.Invalid, 0},
		"Reversed":       {"an old schema accepted it", "2026-12-01", "2026-11-20", now, quarantine.Invalid, 0},
		"No days":        {"an old schema accepted it", "", "soon", now, quarantine.Invalid, 0},
	} {
		t.Run(name, func(t *testing.T) {
			q := aQuarantine("q", days(tc.since, tc.until))
			if got, next := quarantine.StateOf(&q, tc.at), quarantine.NextChange(&q, tc.at); got != tc.want || next != tc.next {
				t.Errorf("%s: %v, next in %s", tc.reason, got, next)
			}
		})
	}
}

func TestFor(t *testing.T) {
	deleted := func(q *v1alpha1.Quarantine) { q.DeletionTimestamp = new(metav1.NewTime(now)) }
	for name, tc := range map[string]struct {
		reason string
		q      v1alpha1.Quarantine
		want   string
	}{
		"Its Trigger":         {"named", aQuarantine("q"), "q"},
		"Another Trigger":     {"not named", aQuarantine("q", of([]string{"smoke"}, nil)), ""},
		"A part of the name":  {"triggers are no patterns", aQuarantine("q", of([]string{"e*", "e2e-nightly"}, nil)), ""},
		"All Triggers":        {"said explicitly", aQuarantine("q", of([]string{"*"}, nil)), "q"},
		"No Trigger":          {"an old schema accepted it", aQuarantine("q", of(nil, nil)), ""},
		"Its Environment":     {"named", aQuarantine("q", of([]string{"e2e"}, []string{"staging"})), "q"},
		"Another Environment": {"not named", aQuarantine("q", of([]string{"e2e"}, []string{"production"})), ""},
		"Expired":             {"to say so", aQuarantine("q", days("2026-11-01", "2026-11-20")), "q expired"},
		"Later":               {"it does not begin today", aQuarantine("q", days("2026-11-27", "2026-11-30")), ""},
		"Too long":            {"it quarantines nothing", aQuarantine("q", days("2026-11-01", "2027-11-20")), ""},
		"Being deleted":       {"somebody deleted it", aQuarantine("q", deleted), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, r := range quarantine.For([]v1alpha1.Quarantine{tc.q}, "e2e", "staging", now).Rules {
				got = r.Name
				if r.Expired {
					got += " expired"
				}
			}
			if got != tc.want {
				t.Errorf("%s: %q", tc.reason, got)
			}
		})
	}
}

// TestBounds: what does not fit counts, and the expired ones are left out first.
func TestBounds(t *testing.T) {
	var many []v1alpha1.Quarantine
	for i := range 25 {
		many = append(many, aQuarantine(fmt.Sprintf("q%02d", i)))
	}
	many[3].Spec.Since, many[3].Spec.Until = "2026-10-01", "2026-11-01"
	a := quarantine.For(many, "e2e", "staging", now)
	if len(a.Rules) != 20 || a.Omitted != 5 || a.Rules[19].Expired || a.Rules[3].Name != "q04" {
		t.Errorf("%d rules, %d omitted, %+v", len(a.Rules), a.Omitted, a.Rules)
	}
	large := []v1alpha1.Quarantine{aQuarantine("a", naming(strings.Repeat("x", 32<<10))), aQuarantine("b", naming("y"))}
	if a := quarantine.For(large, "e2e", "staging", now); len(a.Rules) != 1 || a.Rules[0].Name != "a" || a.Omitted != 1 {
		t.Errorf("%d rules, %d omitted", len(a.Rules), a.Omitted)
	}
}

func TestText(t *testing.T) {
	a := quarantine.For([]v1alpha1.Quarantine{aQuarantine("a", naming(`"$(PATH) > größe"`)), aQuarantine("b", days("2026-11-01", "2026-11-20"))}, "e2e", "staging", now)
	if diff := cmp.Diff(a, quarantine.Parse(a.Text())); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if text := (quarantine.Applied{}).Text(); text != "" {
		t.Errorf("none: %q", text)
	}
	many := strings.Repeat(`{"name":"a","until":"2026-12-01"},`, 21)
	for name, text := range map[string]string{
		"Nothing": "", "Not JSON": "{", "Twice": `{"rules":[` + many[:2*34-1] + `]}`, "Too many": `{"rules":[` + many[:len(many)-1] + `]}`,
		"No name": `{"rules":[{"until":"2026-12-01"}]}`, "No day": `{"rules":[{"name":"a"}]}`,
		"Long name": `{"rules":[{"until":"2026-12-01","name":"` + strings.Repeat("a", 64) + `"}]}`,
	} {
		if a := quarantine.Parse(text); a.Valid() || len(a.Rules) > 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestFind(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, entry, test string
		want                bool
	}{
		"Exact":                {"the same", "cart > keeps items", "cart > keeps items", true},
		"Longer":               {"another test", "cart > keeps items", "cart > keeps items twice", false},
		"Case":                 {"names differ by case", "Cart", "cart", false},
		"Beginning":            {"a file", "cart.spec.ts > *", "cart.spec.ts > voucher > late", true},
		"Nothing for the *":    {"it may be empty", "cart*", "cart", true},
		"End":                  {"a title", "* > keeps items", "cart > keeps items", true},
		"Middle":               {"both", "cart*items", "cart > keeps items", true},
		"Overlapping":          {"a part counts once", "cart*art", "cart", false},
		"Order":                {"parts are in order", "*b*a*", "a then b", false},
		"In order":             {"leftmost first", "*ab*ab*", "xabxab", true},
		"Too few":              {"each part has its place", "*ab*ab*", "xab", false},
		"Not a regexp":         {"a dot is one", "cart.spec*", "cartXspec", false},
		"Not a class":          {"brackets are themselves", "[chromium] > cart*", "[chromium] > cart 1", true},
		"Question mark":        {"it is itself", "car?*", "cart", false},
		"Other script":         {"any text", "购物车*", "购物车 > 保留", true},
		"A star in the name":   {"it matches itself", "a * b", "a * b", true},
		"Number of Postflight": {"a test of the same name has none in its report", "adds (2)", "adds", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := quarantine.Compile([]quarantine.Rule{{Name: "q", Tests: []string{tc.entry}}})
			if got := m.Find(tc.test) == 0; got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
	}
	if (quarantine.Matcher{}).Find("a") != -1 {
		t.Error("none names a test")
	}
}

// TestFirstRule: a valid Quarantine comes before an expired one that names the same test.
func TestFirstRule(t *testing.T) {
	for name, rules := range map[string][]quarantine.Rule{
		"exact, pattern":  {{Tests: []string{"abc"}}, {Expired: true, Tests: []string{"abc*"}}},
		"pattern, exact":  {{Tests: []string{"abc*"}}, {Expired: true, Tests: []string{"abc"}}},
		"both of one":     {{Tests: []string{"zzz*", "abc*"}}, {Tests: []string{"abc*"}}},
		"the second only": {{Tests: []string{"other"}}, {Tests: []string{"abc*"}}},
	} {
		want := 0
		if name == "the second only" {
			want = 1
		}
		if got := quarantine.Compile(rules).Find("abc"); got != want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func ended(name string, minute int, tests, skipped int32, applied ...v1alpha1.AppliedQuarantine) *v1alpha1.Suite {
	at := metav1.NewTime(now.Add(time.Duration(minute) * time.Minute))
	return &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.SuiteStatus{
		CompletionTime: &at, Results: &v1alpha1.TestResults{Tests: tests, Skipped: skipped, Quarantines: applied},
	}}
}

func TestStatus(t *testing.T) {
	named := func(n int32) v1alpha1.AppliedQuarantine { return v1alpha1.AppliedQuarantine{Name: "q", Tests: n} }
	other := v1alpha1.AppliedQuarantine{Name: "other", Tests: 9}
	var idle []*v1alpha1.Suite
	for i := range 5 {
		idle = append(idle, ended(fmt.Sprintf("run-%d", i), i, 12, 0, named(0), other))
	}
	both := []string{"e2e", "smoke"}
	for name, tc := range map[string]struct {
		reason           string
		q                v1alpha1.Quarantine
		runs             []*v1alpha1.Suite
		triggers         []string
		want, says, last string
		matched          int32
	}{
		"No run":          {"it is new", aQuarantine("q"), nil, both, "True Quarantined", "Failures of its tests do not fail the runs of e2e until 2026-12-01.", "", 0},
		"A run":           {"the newest counts", aQuarantine("q"), []*v1alpha1.Suite{ended("a", 0, 12, 0, named(1)), ended("b", 5, 12, 0, other, named(2))}, both, "True Quarantined", "until 2026-12-01.", "b", 2},
		"All Triggers":    {"said", aQuarantine("q", of([]string{"*"}, nil)), nil, nil, "True Quarantined", "the runs of all Triggers of the namespace until", "", 0},
		"One is missing":  {"perhaps it is misspelt", aQuarantine("q", of([]string{"e2e", "smok"}, nil)), nil, both, "True Quarantined", "The namespace has no such Trigger: smok.", "", 0},
		"All are missing": {"it has no effect", aQuarantine("q", of([]string{"smok"}, nil)), nil, both, "False TriggerMissing", "It quarantines nothing, because the namespace has no such Trigger: smok.", "", 0},
		"Expired":         {"its tests count", aQuarantine("q", days("2026-10-01", "2026-11-20")), idle[:1], both, "True Expired", "Since 2026-11-20, its tests count again. Delete it, or renew it", "run-0", 0},
		"Later":           {"not today", aQuarantine("q", days("2026-11-30", "2026-12-20")), nil, both, "True NotYet", "It quarantines nothing before 2026-11-30.", "", 0},
		"Too long":        {"an old schema accepted it", aQuarantine("q", days("2026-11-01", "2027-12-20")), nil, both, "False Invalid", "at most 90 days later", "", 0},
		"Everything":      {"it excuses nothing", aQuarantine("q"), []*v1alpha1.Suite{ended("a", 0, 12, 2, named(10))}, both, "True Quarantined", "It names every test that ran in a, so it excuses no failure there", "a", 10},
		"Nothing":         {"five runs are enough", aQuarantine("q"), idle, both, "True Quarantined", "It named no test in the last 5 runs: delete it", "run-4", 0},
		"Nothing yet":     {"four runs are not", aQuarantine("q"), idle[1:], both, "True Quarantined", "until 2026-12-01.", "run-4", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := quarantine.StatusOf(&tc.q, tc.runs, tc.triggers, now)
			c := got.Conditions[0]
			if is := fmt.Sprint(c.Status, " ", c.Reason); is != tc.want || !strings.Contains(c.Message, tc.says) || got.LastRun != tc.last || got.Matched != tc.matched || c.ObservedGeneration != 3 {
				t.Errorf("%s: %s: %s; %+v", tc.reason, is, c.Message, got)
			}
			if strings.HasSuffix(tc.says, ".") && !strings.HasSuffix(c.Message, tc.says) {
				t.Errorf("%s: more is said: %s", tc.reason, c.Message)
			}
		})
	}
}
