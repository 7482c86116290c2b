package ledger

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

const day = 24 * time.Hour

// TestReplaced asks for a run of the commit a, notified at noon, what came after it.
func TestReplaced(t *testing.T) {
	type suites = []*v1alpha1.Suite
	whole := strings.Repeat("a", 40)
	for name, tc := range map[string]struct {
		reason      string
		run         *v1alpha1.Suite
		environment *v1alpha1.Environment
		suites      suites
		want        string // the revision
	}{
		"nothing else":           {"it is still there", notified("a1", "a", 0), environment(), nil, ""},
		"an older one":           {"it replaced that", notified("a1", "a", 0), environment(), suites{notified("b1", "b", -5)}, ""},
		"a newer one":            {"it was replaced", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5)}, "b"},
		"several newer ones":     {"the last one is there", notified("a1", "a", 0), environment(), suites{notified("c1", "c", 9), notified("b1", "b", 5)}, "c"},
		"another branch":         {"the place is the same", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5, branch("hotfix"))}, "b"},
		"a rollback":             {"an old result answered it", notified("a1", "a", 0), environment(), suites{notified("b1", "b", -5, answeredAgain(5))}, "b"},
		"found while it ran":     {"its run continued", notified("a1", "a", 0), environment(), suites{notified("b1", "b", -5, notifiedAgain(5))}, "b"},
		"back again":             {"its own result answered", notified("a1", "a", 0, answeredAgain(9)), environment(), suites{notified("b1", "b", 5)}, ""},
		"back by another run":    {"of another Trigger", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5), notified("a2", "a", 9)}, ""},
		"a version comes back":   {"without its repository", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5), notified("a2", "a", 9, repository(""))}, ""},
		"a rerun":                {"it is no deployment", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5, from(v1alpha1.OriginRerun))}, ""},
		"a retry":                {"nor is it", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5, from(v1alpha1.OriginRetry))}, ""},
		"a repetition":           {"nor is it", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5, from(v1alpha1.OriginRepetition))}, ""},
		"a schedule":             {"nor is it", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5, from(v1alpha1.OriginSchedule))}, ""},
		"a rerun that was found": {"the deployment counts", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 4, from(v1alpha1.OriginRerun), notifiedAgain(5))}, "b"},
		"a manual Suite":         {"somebody says that it is there", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5, from(v1alpha1.OriginManual))}, "b"},
		"a late event":           {"its deployment was before", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5, from(v1alpha1.OriginEvent), deployedAt(-5))}, ""},
		"an event":               {"its deployment was later", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 6, from(v1alpha1.OriginEvent), deployedAt(5))}, "b"},
		"another repository":     {"it has commits of its own", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5, repository("acme/pay"))}, ""},
		"another spelling":       {"it is the same repository", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5, repository("Acme/Shop"))}, "b"},
		"no repository":          {"it may be the same", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5, repository(""))}, "b"},
		"of no repository":       {"any other commit may replace it", notified("a1", "a", 0, repository("")), environment(), suites{notified("b1", "b", 5)}, "b"},
		"a fork":                 {"a whole SHA is the same commit", notified("a1", whole, 0), environment(), suites{notified("b1", whole, 5, repository("acme/fork"))}, ""},
		"another service":        {"each is deployed on its own", notified("a1", "a", 0, service("cart")), environment(), suites{notified("b1", "b", 5, service("checkout"))}, ""},
		"its own service":        {"it was replaced", notified("a1", "a", 0, service("cart")), environment(), suites{notified("b1", "b", 5, service("cart"))}, "b"},
		"no service":             {"it may be this one", notified("a1", "a", 0, service("cart")), environment(), suites{notified("b1", "b", 5)}, "b"},
		"of no service":          {"a part of it was replaced", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5, service("cart"))}, "b"},
		"a service elsewhere":    {"it is of another repository", notified("a1", "a", 0, service("cart")), environment(), suites{notified("b1", "b", 5, service("cart"), repository("acme/pay"))}, ""},
		"a service, nowhere":     {"the repository may be the same", notified("a1", "a", 0, service("cart")), environment(), suites{notified("b1", "b", 5, service("cart"), repository(""))}, "b"},
		"another service has it": {"its commit came to that one", notified("a1", whole, 0, service("cart")), environment(),
			suites{notified("b1", "b", 5, service("cart")), notified("a2", whole, 9, service("checkout"))}, "b"},
		"no service has it": {"it may be that of another service", notified("a1", whole, 0, service("cart")), environment(),
			suites{notified("b1", "b", 5, service("cart")), notified("a2", whole, 9)}, "b"},
		"a service comes back": {"it is there again", notified("a1", whole, 0, service("cart")), environment(),
			suites{notified("b1", "b", 5, service("cart")), notified("a2", whole, 9, service("cart"))}, ""},
		"one service of all comes back": {"the others do not have it", notified("a1", whole, 0), environment(),
			suites{notified("b1", "b", 5, service("cart")), notified("b2", "b", 6, service("checkout")), notified("a2", whole, 9, service("cart"))}, "b"},
		"without a revision": {"it may be any", notified("a1", "a", 0), environment(), suites{notified("b1", "", 5)}, "?"},
		"both without one":   {"they may be any", notified("a1", "", 0), environment(), suites{notified("b1", "", 5)}, "?"},
		"its sibling":        {"they are of one notification", notified("a1", "", 0, request("r")), environment(), suites{notified("b1", "", 5, request("r"))}, ""},
		"another URL":        {"previews do not replace each other", notified("a1", "a", 0, url("https://pr-1.example.com")), environment(), suites{notified("b1", "b", 5, url("https://pr-2.example.com"))}, ""},
		"one URL":            {"two branches do there", notified("a1", "a", 0, url("https://Staging.example.com/")), environment(), suites{notified("b1", "b", 5, branch("x"), url("https://staging.example.com?x=1"))}, "b"},
		"a URL and none":     {"that of the Environment is not known", notified("a1", "a", 0, url("https://pr-1.example.com")), environment(), suites{notified("b1", "b", 5)}, "b"},
		"the URL of the Environment": {"it is meant where none is named", notified("a1", "a", 0, url("https://staging.example.com")), at("https://staging.example.com"),
			suites{notified("b1", "b", 5)}, "b"},
		"not that of the Environment": {"it is another place", notified("a1", "a", 0, url("https://pr-1.example.com")), at("https://staging.example.com"), suites{notified("b1", "b", 5)}, ""},
		"an earlier Environment":      {"it is gone", notified("a1", "a", 0), environment(), suites{notified("b1", "b", -40, inEnvironment("uid-before"))}, ""},
		"a run of an earlier one":     {"a deployment to this one found it", notified("a1", "a", 0), environment(), suites{notified("b1", "b", -40, inEnvironment("uid-before"), answeredAgain(5))}, "b"},
		"this Environment":            {"", notified("a1", "a", 0), environment(), suites{notified("b1", "b", 5, inEnvironment("uid-staging"))}, "b"},
		"a deleted Suite":             {"the status remembers it", notified("a1", "a", 0), environment(has("b", 5)), nil, "b"},
		"a deleted one, back again":   {"the status says so", notified("a1", "a", 0), environment(has("a", 9, had("b", 5))), nil, ""},
		"restored":                    {"it was deployed before the backup", notified("a1", "a", 0, restoredAfter(3*day)), environment(), suites{notified("b1", "b", -5, restoredAfter(3*day+time.Second))}, ""},
		"restored, newer":             {"the order is that of the receipt", notified("a1", "a", 0, restoredAfter(3*day+time.Second)), environment(), suites{notified("b1", "b", 5, restoredAfter(3*day))}, "b"},

		"workloads have it":             {"they say so", notified("a1", "a", 0), withWorkloads(has("a", 1)), suites{notified("b1", "b", 5)}, ""},
		"workloads have another":        {"whoever brought it", notified("a1", "a", 0), withWorkloads(has("b", 5)), nil, "b"},
		"workloads have it again":       {"after another", notified("a1", "a", 0), withWorkloads(has("a", 9, had("b", 5))), nil, ""},
		"workloads do not have it yet":  {"CI notifies before the rollout", notified("a1", "a", 0), withWorkloads(has("b", -5)), nil, ""},
		"workloads have several":        {"nobody knows which", notified("a1", "a", 0), withWorkloads(has("", 5)), nil, "?"},
		"workloads have a short tag":    {"it is the same commit", notified("a1", whole, 0), withWorkloads(has(whole[:7], 5)), nil, ""},
		"workloads of another spelling": {"it is the same repository", notified("a1", "a", 0, repository("Acme/Shop")), withWorkloads(has("b", 5)), nil, "b"},
		"workloads, and no repository":  {"the only one is meant", notified("a1", "a", 0, repository("")), withWorkloads(has("b", 5)), nil, "b"},
		"workloads of another service":  {"they say nothing of this one", notified("a1", "a", 0, service("cart")), withServices(ofService("cart", has("a", 1)), ofService("checkout", has("b", 5))), nil, ""},
		"workloads of its service":      {"they have another commit", notified("a1", "a", 0, service("cart")), withServices(ofService("cart", has("b", 5)), ofService("checkout", has("a", 1))), nil, "b"},
		"workloads, and no service":     {"one of them has another commit", notified("a1", "a", 0), withServices(ofService("cart", has("a", 1)), ofService("checkout", has("b", 5))), nil, "b"},
		"workloads without a service":   {"they are all of the repository", notified("a1", "a", 0, service("cart")), withWorkloads(has("a", 9, had("b", 5))), nil, ""},
		"workloads of all have another": {"the service is among them", notified("a1", "a", 0, service("cart")), withWorkloads(has("b", 5)),
			suites{notified("c1", "c", 9, service("checkout"))}, "b"},
		"a service without workloads": {"notifications say what is deployed of it", notified("a1", "a", 0, service("search")), withServices(ofService("cart", has("b", 9))),
			suites{notified("c1", "c", 6, service("search"))}, "c"},
		"a service that no workload is of": {"workloads of others do not say what is deployed of it", notified("a1", "a", 0), withServices(ofService("cart", has("a", 1))),
			suites{notified("b1", "b", 5, service("checkout"))}, "b"},
		"a service with workloads, announced": {"its workloads say when it is there", notified("a1", "a", 0), withServices(ofService("cart", has("a", 1))),
			suites{notified("b1", "b", 5, service("cart"))}, ""},
		"no service, and workloads of one": {"it may be one without workloads", notified("a1", "a", 0), withServices(ofService("cart", has("a", 1))),
			suites{notified("b1", "b", 5)}, "b"},
		"a service with workloads, and none": {"its workloads say when it is replaced", notified("a1", "a", 0, service("cart")), withServices(ofService("cart", has("a", 1))),
			suites{notified("b1", "b", 5)}, ""},
		"workloads of its service, and without one": {"its own decide", notified("a1", "a", 0, service("cart")), withServices(ofService("cart", has("b", 5)), has("a", 9)), nil, "b"},
		"workloads of another one, and without one": {"the latter are of all others", notified("a1", "a", 0, service("mail")), withServices(ofService("cart", has("b", 9)), has("a", 9, had("b", 5))), nil, ""},
		"workloads of another one":                  {"notifications say what is deployed of it", notified("a1", "a", 0, repository("acme/pay")), withWorkloads(has("b", 5)), suites{notified("c1", "c", 6, repository("acme/pay"))}, "c"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if d := Of(tc.environment, append(tc.suites, tc.run)).Replaced(tc.run); d != nil {
				if got = d.Revision; got == "" {
					got = "?"
				}
			}
			if got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestFoundAtAnotherPlace: a deployment that found a run is to the place that it names, and not to that of the run.
func TestFoundAtAnotherPlace(t *testing.T) {
	const staging, preview = "https://staging.example.com", "https://pr-7.example.com"
	tested := notified("b1", "b", 5, url(staging))
	for name, tc := range map[string]struct {
		found       []change // of the commit a, notified at noon
		own         string   // the URL of that
		replaced    bool     // a, at its own place
		interrupted bool     // the tests of b at staging, from minute 6 to 20
	}{
		"never":                       {nil, staging, true, false},
		"here again":                  {[]change{foundBy(9, staging)}, staging, false, true},
		"at that of the Environment":  {[]change{foundBy(9, "")}, staging, false, true},
		"elsewhere":                   {[]change{foundBy(9, preview)}, staging, true, false},
		"a preview, and never":        {nil, preview, false, false},
		"a preview, and here":         {[]change{foundBy(9, "")}, preview, false, true},
		"here, and after the tests":   {[]change{foundBy(9, ""), foundBy(25, "")}, staging, false, true},
		"noted by an earlier version": {[]change{answeredAgain(9)}, staging, false, true},
		"noted with a difference": {[]change{answeredAgain(9), func(s *v1alpha1.Suite) {
			s.Status.AnsweredOther = &v1alpha1.OtherDeployment{URL: preview, Differs: []v1alpha1.Difference{v1alpha1.DifferentURL}}
		}}, staging, true, true},
	} {
		run := notified("a1", "a", 0, append(tc.found, url(tc.own))...)
		l := Of(at(staging), []*v1alpha1.Suite{run, tested})
		if got := l.Replaced(run) != nil; got != tc.replaced {
			t.Errorf("%s: replaced %t", name, got)
		}
		if got := l.Interrupted(tested, minutes(6), minutes(20), true) != nil; got != tc.interrupted {
			t.Errorf("%s: interrupted %t", name, got)
		}
	}
	scheduled := notified("s1", "b", 30, from(v1alpha1.OriginSchedule))
	all := []*v1alpha1.Suite{notified("a1", "a", 0, url(staging)), tested, scheduled}
	if d := Of(environment(), all).Interrupted(scheduled, minutes(30), minutes(31), false); d != nil {
		t.Errorf("an Environment without a URL has b: %+v", d)
	}
	if got := Of(environment(), all).At(v1alpha1.Deployed{Repository: shop, SHA: "b"}); !got.Equal(minutes(5)) {
		t.Errorf("since %s", got)
	}
	l := Of(at(staging), []*v1alpha1.Suite{notified("a1", "a", 0, url(preview), foundBy(9, "")), tested})
	if n := l.Notified()[commit.PartOf(shop, "")]; n.Revision != "a" || n.Elsewhere || n.URL != staging {
		t.Errorf("what found a preview is at the URL of the Environment: %+v", n)
	}
}

// TestUnreadWorkloads: notifications count until workloads were read, and for runs whose workloads were not compared.
func TestUnreadWorkloads(t *testing.T) {
	run, other := notified("a1", "a", 0), notified("b1", "b", 15)
	e := withWorkloads(has("a", 1))
	if Of(e, []*v1alpha1.Suite{run, other}).Interrupted(run, minutes(10), minutes(20), false) == nil {
		t.Error("the workloads were added while the run went on")
	}
	e.Status.Deployed[0].Workloads[0].UID = ""
	if l := Of(e, []*v1alpha1.Suite{run, other}); l.Replaced(run) == nil || l.Interrupted(run, minutes(10), minutes(20), true) == nil {
		t.Error("no workload was ever read")
	}
}

func at(url string) *v1alpha1.Environment {
	e := environment()
	e.Spec.URL = url
	return e
}

// TestInterrupted asks for a run of the commit a, notified at noon, whose tests ran from minute 10 to 20.
func TestInterrupted(t *testing.T) {
	for name, tc := range map[string]struct {
		own    []change
		suites []*v1alpha1.Suite
		want   bool
	}{
		"nothing else":                   {nil, nil, false},
		"before it":                      {nil, []*v1alpha1.Suite{notified("b1", "b", -5)}, false},
		"before its tests began":         {nil, []*v1alpha1.Suite{notified("b1", "b", 5)}, true},
		"while they ran":                 {nil, []*v1alpha1.Suite{notified("b1", "b", 15)}, true},
		"after they ended":               {nil, []*v1alpha1.Suite{notified("b1", "b", 25)}, false},
		"back before they began":         {[]change{notifiedAgain(8)}, []*v1alpha1.Suite{notified("b1", "b", 5)}, false},
		"back when they began":           {[]change{notifiedAgain(10)}, []*v1alpha1.Suite{notified("b1", "b", 5)}, true},
		"back while they ran":            {[]change{notifiedAgain(17)}, []*v1alpha1.Suite{notified("b1", "b", 15)}, true},
		"another branch, while they ran": {nil, []*v1alpha1.Suite{notified("b1", "b", 15, branch("hotfix"))}, true},
		"another repository":             {nil, []*v1alpha1.Suite{notified("b1", "b", 15, repository("acme/pay"))}, false},
		"a rerun of another commit":      {nil, []*v1alpha1.Suite{notified("b1", "b", 15, from(v1alpha1.OriginRerun))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			run := notified("a1", "a", 0, tc.own...)
			got := Of(environment(), append(tc.suites, run)).Interrupted(run, minutes(10), minutes(20), true)
			if (got != nil) != tc.want {
				t.Errorf("got %+v", got)
			}
		})
	}
	whole, own := notified("a1", "a", 0), notified("a1", "a", 0, service("cart"))
	for name, tc := range map[string]struct {
		run    *v1alpha1.Suite
		during *v1alpha1.Suite
		want   bool
	}{
		"of a repository, a service without workloads": {whole, notified("b1", "b", 15, service("checkout")), true},
		"of a repository, a service with workloads":    {whole, notified("b1", "b", 15, service("cart")), false},
		"of a repository, no service":                  {whole, notified("b1", "b", 15), true},
		"of a service, no service":                     {own, notified("b1", "b", 15), false},
		"of a service, another one":                    {own, notified("b1", "b", 15, service("checkout")), false},
	} {
		l := Of(withServices(ofService("cart", has("a", 1))), []*v1alpha1.Suite{tc.run, tc.during})
		if got := l.Interrupted(tc.run, minutes(10), minutes(20), true); (got != nil) != tc.want {
			t.Errorf("workloads of cart, and a run %s: %+v", name, got)
		}
	}
	run := notified("a1", "a", 0)
	if Of(withServices(ofService("cart", has("b", 15))), nil).Interrupted(run, minutes(10), minutes(20), true) != nil {
		t.Error("the workloads of a service say themselves what was under test")
	}
	if Of(withWorkloads(has("b", 15)), nil).Interrupted(run, minutes(10), minutes(20), true) != nil {
		t.Error("workloads say themselves what was under test")
	}
}

// TestRolloutsInBetween: CI may notify a commit, and the next one, before the first is rolled out. The run of the next one is of no earlier
// rollout.
func TestRolloutsInBetween(t *testing.T) {
	rerun := from(v1alpha1.OriginRerun)
	for name, tc := range map[string]struct {
		reason string
		suites []*v1alpha1.Suite
		want   bool // another commit was there since minute 8
	}{
		"a rollout":           {"nobody notified the commit before", nil, true},
		"CI was earlier":      {"and may have notified this one before that was complete", []*v1alpha1.Suite{notified("a1", "aaaa", 6)}, false},
		"the rollout started": {"its run is newer", []*v1alpha1.Suite{notified("a1", "aaaa", 11)}, true},
		"it was there twice":  {"the run of the last time counts", []*v1alpha1.Suite{notified("a1", "aaaa", 2), notified("a2", "aaaa", 11)}, true},
		"started again":       {"that was no deployment", []*v1alpha1.Suite{notified("a1", "aaaa", 6), notified("a2", "aaaa", 15, rerun)}, false},
		"another repository":  {"it has commits of its own", []*v1alpha1.Suite{notified("a1", "aaaa", 3, repository("acme/pay"))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			run := notified("b1", "bbbb", 8)
			l := Of(withWorkloads(has("bbbb", 20, had("aaaa", 10))), append(tc.suites, run))
			if got := l.Other(run, Last(run)) != nil; got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
	}
}

func TestNotified(t *testing.T) {
	l := Of(environment(), []*v1alpha1.Suite{
		notified("a1", "a", 0), notified("b1", "b", 5, repository("Acme/Shop")), notified("r1", "r", 9, from(v1alpha1.OriginRerun)),
		notified("w1", "w", 9, from(v1alpha1.OriginRollout)), notified("n1", "", 9), notified("p1", "p", 1, repository("acme/pay")),
	})
	got := l.Notified()
	if n := got[commit.PartOf(shop, "")]; n.Revision != "b" || !n.At.Equal(minutes(5)) || strings.Join(n.Revisions, " ") != "b a" {
		t.Errorf("%+v", n)
	}
	if n := got[commit.PartOf("acme/pay", "")]; n.Revision != "p" || len(got) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestNotifiedOfServices(t *testing.T) {
	got := Of(environment(), []*v1alpha1.Suite{
		notified("a1", "a", 0, service("cart")), notified("b1", "b", 5, service("checkout"), repository("Acme/Shop")), notified("c1", "c", 9),
	}).Notified()
	for name, want := range map[string]string{"cart": "a", "checkout": "b", "": "c"} {
		if n := got[commit.PartOf(shop, name)]; n.Revision != want || n.Before != nil || len(got) != 3 {
			t.Errorf("%q: %+v", name, n)
		}
	}
}

func TestRemoved(t *testing.T) {
	l := Of(environment(), nil)
	for uid, want := range map[types.UID]bool{"": false, "uid-staging": false, "uid-before": true} {
		if l.Removed(notified("a1", "a", 0, inEnvironment(uid))) != want {
			t.Errorf("%q: want %t", uid, want)
		}
	}
}
