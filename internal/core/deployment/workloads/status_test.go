package workloads

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// step is an observation so many minutes after noon.
type step struct {
	minute int
	found  []Found
	suites []*v1alpha1.Suite
}

const shop = "acme/shop"

// follow returns the status after each step, as the API server stores it.
func follow(e *v1alpha1.Environment, steps ...step) (is []v1alpha1.Deployed, problems []string) {
	e = e.DeepCopy()
	for _, s := range steps {
		e.Status.Deployed, problems = Status(observed(e, s))
	}
	return e.Status.Deployed, problems
}

func observed(e *v1alpha1.Environment, s step) Observed {
	return Observed{Environment: e, Found: s.found, Suites: s.suites, Now: minutes(s.minute)}
}

// summary is a line for each repository: the commit, when and by whom it was reported, whether it is ready, and the message.
func summary(all []v1alpha1.Deployed) string {
	var lines []string
	for _, d := range all {
		line := fmt.Sprintf("%s %s", strings.TrimSuffix(d.Repository+"/"+d.Service, "/"), d.SHA)
		if d.Since != nil {
			line += fmt.Sprintf(" since %s by %s", d.Since.UTC().Format("15:04"), d.ReportedBy)
		}
		if d.Branch != "" || d.DeploymentType != "" {
			line += fmt.Sprintf(" of %s %s", d.Branch, d.DeploymentType)
		}
		if d.Ready != nil {
			line += fmt.Sprintf(", ready %t", *d.Ready)
		}
		if d.Message != "" {
			line += ": " + d.Message
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

func TestStatus(t *testing.T) {
	web := func(sha string, change ...change) Found { return found(shop, aDeployment("web", sha, change...)) }
	api := func(sha string, change ...change) Found { return found(shop, aDeployment("api", sha, change...)) }
	pay := func(sha string) Found { return found("acme/pay", aDeployment("pay", sha)) }
	all := func(f ...Found) []Found { return f }
	cart := func(sha string) Found { return ofService("cart", found(shop, aDeployment("cart", sha))) }
	checkout := func(sha string) Found { return ofService("checkout", found("Acme/Shop", aDeployment("checkout", sha))) }
	told := func(s ...*v1alpha1.Suite) []*v1alpha1.Suite { return s }
	for name, tc := range map[string]struct {
		reason string
		steps  []step
		want   string
	}{
		"first sight":          {"it is complete, and nobody knows since when", []step{{1, all(web("aaaa")), nil}}, "acme/shop aaaa since 12:01 by Workload, ready true"},
		"first sight, rolling": {"what was there before is not known", []step{{1, all(web("aaaa", rolling)), nil}}, "acme/shop , ready false: aaaa comes: 1 of 3 replicas of the Deployment web have it."},
		"unchanged":            {"it is the same later", []step{{1, all(web("aaaa")), nil}, {9, all(web("aaaa")), nil}}, "acme/shop aaaa since 12:01 by Workload, ready true"},
		"a rollout": {"the old commit is there until the new one is", []step{{1, all(web("aaaa")), nil}, {2, all(web("bbbbbbbbbbbb", rolling)), nil}},
			"acme/shop aaaa since 12:01 by Workload, ready false: bbbbbbbbbbbb comes: 1 of 3 replicas of the Deployment web have it."},
		"a rollout ends":        {"when it is seen", []step{{1, all(web("aaaa")), nil}, {2, all(web("bbbb", rolling)), nil}, {4, all(web("bbbb")), nil}}, "acme/shop bbbb since 12:04 by Workload, ready true"},
		"a rollout of the same": {"a variable changed, and the commit did not", []step{{1, all(web("aaaa")), nil}, {2, all(web("aaaa", rolling)), nil}}, "acme/shop aaaa since 12:01 by Workload, ready false: 1 of 3 replicas of the Deployment web have it."},
		"a rollout fails": {"the old pods still run", []step{{1, all(web("aaaa")), nil}, {2, all(web("bbbb", failed)), nil}},
			"acme/shop aaaa since 12:01 by Workload, ready false: bbbb comes: The rollout of the Deployment web failed: Progress deadline exceeded."},
		"a rollout is undone": {"it was there all the time", []step{{1, all(web("aaaa")), nil}, {2, all(web("bbbb", failed)), nil}, {3, all(web("aaaa", rolling)), nil}, {4, all(web("aaaa")), nil}}, "acme/shop aaaa since 12:01 by Workload, ready true"},
		"a rollback":          {"it comes again", []step{{1, all(web("aaaa")), nil}, {2, all(web("bbbb")), nil}, {3, all(web("aaaa")), nil}}, "acme/shop aaaa since 12:03 by Workload, ready true"},
		"a branch":            {"as the object says", []step{{1, all(web("aaaa", branched("main"))), nil}}, "acme/shop aaaa since 12:01 by Workload of main , ready true"},
		"the branch comes":    {"it belongs to the new commit", []step{{1, all(web("aaaa", branched("main"))), nil}, {2, all(web("bbbb", branched("hotfix"), rolling)), nil}}, "acme/shop aaaa since 12:01 by Workload of main , ready false: bbbb comes: 1 of 3 replicas of the Deployment web have it."},
		"the branch has gone": {"that of the old commit is not that of the new one", []step{{1, all(web("aaaa", branched("main"))), nil}, {2, all(web("bbbb")), nil}}, "acme/shop bbbb since 12:02 by Workload, ready true"},

		"two agree":        {"both have it", []step{{1, all(web("aaaa"), api("aaaa")), nil}}, "acme/shop aaaa since 12:01 by Workload, ready true"},
		"two differ":       {"no commit is that of both", []step{{1, all(web("aaaa"), api("aaaa")), nil}, {2, all(web("bbbb"), api("aaaa")), nil}}, "acme/shop  since 12:02 by Workload, ready false: Its workloads have several commits: api has aaaa; web has bbbb."},
		"three differ":     {"two of them agree", []step{{1, all(web("aaaa"), api("aaaa"), found(shop, aDeployment("db", "bbbb"))), nil}}, "acme/shop  since 12:01 by Workload, ready false: Its workloads have several commits: api, web have aaaa; db has bbbb."},
		"both agree again": {"the second one followed", []step{{1, all(web("bbbb"), api("aaaa")), nil}, {2, all(web("bbbb"), api("bbbb")), nil}}, "acme/shop bbbb since 12:02 by Workload, ready true"},
		"both come": {"the message names both, by their names", []step{{1, all(web("aaaa", rolling), api("aaaa", failed)), nil}},
			"acme/shop , ready false: aaaa comes: The rollout of the Deployment api failed: Progress deadline exceeded. aaaa comes: 1 of 3 replicas of the Deployment web have it."},
		"one is missing":       {"the other one shows nothing of both", []step{{1, all(web("aaaa"), api("aaaa")), nil}, {2, all(web("aaaa"), missing(shop, "api")), nil}}, "acme/shop aaaa since 12:01 by Workload, ready false: There is no Deployment api in namespace shop."},
		"one was never there":  {"nothing is known", []step{{1, all(missing(shop, "api")), nil}}, "acme/shop , ready false: There is no Deployment api in namespace shop."},
		"one names no commit":  {"and what was there stays", []step{{1, all(web("aaaa")), nil}, {2, all(web("")), nil}}, "acme/shop aaaa since 12:01 by Workload, ready false: The Deployment web names no commit: annotate its pods with postflight.dev/sha, or say in sha where the commit is."},
		"two repositories":     {"each has its own", []step{{1, all(web("aaaa")), nil}, {2, all(web("aaaa"), pay("bbbb")), nil}}, "acme/pay bbbb since 12:02 by Workload, ready true\nacme/shop aaaa since 12:01 by Workload, ready true"},
		"removed":              {"from the spec: what it had stays", []step{{1, all(web("aaaa")), nil}, {2, nil, nil}}, "acme/shop aaaa since 12:01 by Workload"},
		"removed without any":  {"nothing is left to say", []step{{1, all(missing(shop, "api")), nil}, {2, nil, nil}}, ""},
		"removed and notified": {"the notification is newer", []step{{1, all(web("aaaa")), nil}, {3, nil, told(notify(shop, "bbbb", 2))}}, "acme/shop bbbb since 12:02 by Notification of main push"},

		"a short tag":           {"it is the beginning of the commit that CI notified", []step{{2, all(web("5ca1ab1")), told(notify(shop, "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e", 1))}}, "acme/shop 5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e since 12:01 by Notification of main push, ready true"},
		"a short tag, later":    {"the run was deleted, and nothing was deployed", []step{{2, all(web("5ca1ab1")), told(notify(shop, "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e", 1))}, {9, all(web("5ca1ab1")), nil}}, "acme/shop 5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e since 12:01 by Notification of main push, ready true"},
		"a tag of an older one": {"CI notified another commit since", []step{{3, all(web("5ca1ab1")), told(notify(shop, "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e", 1), notify(shop, "bbbb", 2))}}, "acme/shop 5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e since 12:03 by Workload, ready true"},
		"notified only":         {"there are no workloads", []step{{5, nil, told(notify(shop, "aaaa", 1), notify(shop, "bbbb", 3), notify(shop, "cccc", 2))}}, "acme/shop bbbb since 12:03 by Notification of main push"},
		"notified again":        {"the same commit is not newer", []step{{2, nil, told(notify(shop, "aaaa", 1))}, {9, nil, told(notify(shop, "aaaa", 8))}}, "acme/shop aaaa since 12:01 by Notification of main push"},
		"run deleted":           {"the commit stays", []step{{2, nil, told(notify(shop, "aaaa", 1))}, {9, nil, nil}}, "acme/shop aaaa since 12:01 by Notification of main push"},
		"newer run deleted":     {"an older run says nothing new", []step{{2, nil, told(notify(shop, "aaaa", 1), notify(shop, "bbbb", 2))}, {9, nil, told(notify(shop, "aaaa", 1))}}, "acme/shop bbbb since 12:02 by Notification of main push"},
		"schedule":              {"it tests what was deployed before", []step{{9, nil, told(notify(shop, "bbbb", 2), notify(shop, "aaaa", 8, scheduled))}}, "acme/shop bbbb since 12:02 by Notification of main push"},
		"schedule, notified then": {"CI deployed it while its run continued", []step{{9, nil, told(notify(shop, "bbbb", 2), notify(shop, "aaaa", 7, scheduled, func(s *v1alpha1.Suite) {
			s.Status.NotifiedAgainAt = new(metav1.NewMicroTime(minutes(8)))
		}))}}, "acme/shop aaaa since 12:08 by Notification of main push"},
		"rerun":                  {"it tests what was deployed before", []step{{9, nil, told(notify(shop, "bbbb", 2), notify(shop, "aaaa", 8, rerun))}}, "acme/shop bbbb since 12:02 by Notification of main push"},
		"no commit":              {"a notification may name none", []step{{9, nil, told(notify(shop, "aaaa", 1), notify(shop, "", 2))}}, "acme/shop aaaa since 12:01 by Notification of main push"},
		"no repository":          {"and there is no other", []step{{9, nil, told(notify("", "aaaa", 1))}}, " aaaa since 12:01 by Notification of main push"},
		"several repositories":   {"each has its own", []step{{9, nil, told(notify(shop, "aaaa", 1), notify("acme/pay", "bbbb", 2))}}, "acme/pay bbbb since 12:02 by Notification of main push\nacme/shop aaaa since 12:01 by Notification of main push"},
		"notified, then seen":    {"the rollout ends after the notification", []step{{1, all(web("aaaa")), nil}, {3, all(web("bbbb", rolling)), told(notify(shop, "bbbb", 2))}, {5, all(web("bbbb")), told(notify(shop, "bbbb", 2))}}, "acme/shop bbbb since 12:02 by Notification of main push, ready true"},
		"notified, and rolling":  {"the notification is too early", []step{{1, all(web("aaaa")), nil}, {3, all(web("bbbb", rolling)), told(notify(shop, "bbbb", 2))}}, "acme/shop aaaa since 12:01 by Workload, ready false: bbbb comes: 1 of 3 replicas of the Deployment web have it."},
		"seen, then notified":    {"it was there before, but the branch is new", []step{{1, all(web("aaaa")), nil}, {3, all(web("aaaa")), told(notify(shop, "aaaa", 2))}}, "acme/shop aaaa since 12:01 by Workload of main push, ready true"},
		"another commit":         {"what runs decides", []step{{3, all(web("aaaa")), told(notify(shop, "bbbb", 2))}}, "acme/shop aaaa since 12:03 by Workload, ready true"},
		"another branch":         {"what the object says decides", []step{{3, all(web("aaaa", branched("hotfix"))), told(notify(shop, "aaaa", 2))}}, "acme/shop aaaa since 12:02 by Notification of hotfix push, ready true"},
		"deployed long ago":      {"an old notification does not tell when it came back", []step{{1, nil, told(notify(shop, "aaaa", 0))}, {2, all(web("bbbb")), nil}, {5, all(web("aaaa")), told(notify(shop, "aaaa", 0))}}, "acme/shop aaaa since 12:05 by Workload of main push, ready true"},
		"of the only repository": {"a notification without one means it", []step{{3, all(web("aaaa")), told(notify("", "aaaa", 2))}}, "acme/shop aaaa since 12:02 by Notification of main push, ready true"},
		"of one of two":          {"nobody knows which", []step{{3, all(web("aaaa"), pay("bbbb")), told(notify("", "cccc", 2))}}, " cccc since 12:02 by Notification of main push\nacme/pay bbbb since 12:03 by Workload, ready true\nacme/shop aaaa since 12:03 by Workload, ready true"},
		"two services":           {"each has its own commit", []step{{1, all(cart("aaaa"), checkout("aaaa")), nil}, {2, all(cart("bbbb"), checkout("aaaa")), nil}}, "Acme/Shop/checkout aaaa since 12:01 by Workload, ready true\nacme/shop/cart bbbb since 12:02 by Workload, ready true"},
		"two services, notified": {"each by its own name", []step{{9, nil, told(notify(shop, "aaaa", 1, service("cart")), notify(shop, "bbbb", 2, service("checkout")))}}, "acme/shop/cart aaaa since 12:01 by Notification of main push\nacme/shop/checkout bbbb since 12:02 by Notification of main push"},
		"a service and none":     {"a notification without one is of the whole repository", []step{{9, nil, told(notify(shop, "aaaa", 1, service("cart")), notify(shop, "bbbb", 2))}}, "acme/shop bbbb since 12:02 by Notification of main push\nacme/shop/cart aaaa since 12:01 by Notification of main push"},
		"workloads of services, and a notification of none":   {"the workloads decide", []step{{3, all(cart("aaaa")), told(notify(shop, "bbbb", 2))}}, "acme/shop/cart aaaa since 12:03 by Workload, ready true"},
		"workloads of none, and a notification of a service":  {"the workloads decide", []step{{3, all(web("aaaa")), told(notify(shop, "bbbb", 2, service("cart")))}}, "acme/shop aaaa since 12:03 by Workload, ready true"},
		"workloads of a service, and another one is notified": {"they do not know it", []step{{3, all(cart("aaaa")), told(notify(shop, "bbbb", 2, service("checkout")))}}, "acme/shop/cart aaaa since 12:03 by Workload, ready true\nacme/shop/checkout bbbb since 12:02 by Notification of main push"},
		"a service gets a name":                               {"what had none is told apart", []step{{1, all(web("aaaa")), nil}, {2, all(cart("aaaa")), nil}}, "acme/shop/cart aaaa since 12:02 by Workload, ready true"},
		"a short tag of a service":                            {"CI notified the whole repository", []step{{2, all(cart("5ca1ab1")), told(notify(shop, "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e", 1))}}, "acme/shop/cart 5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e since 12:02 by Workload, ready true"},
		"now it has workloads":                                {"they confirm the commit", []step{{2, nil, told(notify(shop, "aaaa", 1))}, {9, all(web("aaaa")), nil}}, "acme/shop aaaa since 12:01 by Notification of main push, ready true"},
		"now they are not there":                              {"the notification was", []step{{2, nil, told(notify(shop, "aaaa", 1))}, {9, all(missing(shop, "web")), nil}}, "acme/shop aaaa since 12:01 by Notification of main push, ready false: There is no Deployment web in namespace shop."},
	} {
		t.Run(name, func(t *testing.T) {
			e := anEnvironment.DeepCopy()
			for _, f := range tc.steps[len(tc.steps)-1].found {
				e.Spec.Workloads = append(e.Spec.Workloads, f.Workload)
			}
			got, _ := follow(e, tc.steps...)
			if diff := cmp.Diff(strings.TrimSpace(tc.want), strings.TrimSpace(summary(got))); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStatusAfterRollback: b, then a, then b again, which its old result answered. The status is right, whether or not it was written in
// between.
func TestStatusAfterRollback(t *testing.T) {
	again := func(at int) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Status.AnsweredAgainAt = new(metav1.NewMicroTime(minutes(at))) }
	}
	b, a, back := notify(shop, "bbbb", 0), notify(shop, "aaaa", 10), notify(shop, "bbbb", 0, again(20))
	const want = "acme/shop bbbb since 12:20 by Notification of main "
	for name, steps := range map[string][]step{
		"at once":               {{21, nil, []*v1alpha1.Suite{back, a}}},
		"after the first":       {{5, nil, []*v1alpha1.Suite{b}}, {21, nil, []*v1alpha1.Suite{back, a}}},
		"after each":            {{5, nil, []*v1alpha1.Suite{b}}, {11, nil, []*v1alpha1.Suite{b, a}}, {21, nil, []*v1alpha1.Suite{back, a}}},
		"when it was repeated":  {{11, nil, []*v1alpha1.Suite{b, a}}, {21, nil, []*v1alpha1.Suite{back, a}}, {31, nil, []*v1alpha1.Suite{notify(shop, "bbbb", 0, again(20)), a}}},
		"when Suites were gone": {{11, nil, []*v1alpha1.Suite{b, a}}, {21, nil, []*v1alpha1.Suite{back, a}}, {31, nil, nil}},
	} {
		is, _ := follow(&anEnvironment, steps...)
		if got := summary(is); !strings.HasPrefix(got, strings.TrimSpace(want)) || is[0].Previous == nil || is[0].Previous.SHA != "aaaa" {
			t.Errorf("%s: %s, before %+v", name, got, is[0].Previous)
		}
	}
	restored := func(s *v1alpha1.Suite) {
		s.CreationTimestamp = metav1.NewTime(minutes(72*60 - int(s.Spec.ReceivedAt.Sub(minutes(0)).Minutes())))
	}
	is, _ := follow(&anEnvironment, step{73 * 60, nil, []*v1alpha1.Suite{notify(shop, "bbbb", 60, restored), notify(shop, "aaaa", 0, restored)}})
	if is[0].SHA != "bbbb" {
		t.Errorf("after a restore, the order is that of the receipt: %s", summary(is))
	}
}

// TestStatusOfPreviews: a preview counts only while nothing of its repository is known to be at the URL of the Environment.
func TestStatusOfPreviews(t *testing.T) {
	e := anEnvironment.DeepCopy()
	e.Spec.URL = "https://staging.example.com"
	preview := func(s *v1alpha1.Suite) { s.Spec.Deployment.URL = "https://pr-1.example.com" }
	own, first, second, third := notify(shop, "main", 0), notify(shop, "pr-a", 5, preview), notify(shop, "pr-b", 10, preview), notify(shop, "main", 15)
	type suites = []*v1alpha1.Suite
	for name, tc := range map[string]struct {
		steps []step
		want  string
	}{
		"beside its own":            {[]step{{11, nil, suites{own, second}}}, "main"},
		"its own Suite was deleted": {[]step{{1, nil, suites{own}}, {11, nil, suites{second}}}, "main"},
		"previews alone":            {[]step{{6, nil, suites{first}}, {11, nil, suites{first, second}}}, "pr-b at https://pr-1.example.com"},
		"the first was deleted":     {[]step{{6, nil, suites{first}}, {11, nil, suites{second}}}, "pr-b at https://pr-1.example.com"},
		"all were deleted":          {[]step{{6, nil, suites{first}}, {11, nil, nil}}, "pr-a at https://pr-1.example.com"},
		"then its own":              {[]step{{11, nil, suites{second}}, {16, nil, suites{second, third}}}, "main"},
		"then the same commit":      {[]step{{11, nil, suites{second}}, {16, nil, suites{second, notify(shop, "pr-b", 15)}}}, "pr-b"},
		"then an older one":         {[]step{{11, nil, suites{second}}, {16, nil, suites{second, own}}}, "main"},
	} {
		is, _ := follow(e, tc.steps...)
		if got := strings.TrimSuffix(is[0].SHA+" at "+is[0].URL, " at "); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if p := is[0].Previous; p != nil && is[0].URL == "" {
			t.Errorf("%s: a preview was there before: %+v", name, p)
		}
	}
	e.Status.Deployed = []v1alpha1.Deployed{{Repository: shop, SHA: "pr-a", Since: at(5)}}
	if is, _ := follow(e, step{11, nil, suites{first, second}}); is[0].SHA != "pr-b" || is[0].URL == "" {
		t.Errorf("the URL was not noted, or became another one, and the status stays: %+v", is[0])
	}
}

// TestStatusOfWorkloads: each object is listed with its own revision, commit, digests and message.
func TestStatusOfWorkloads(t *testing.T) {
	digests := []v1alpha1.ImageDigest{{Container: "web", Digest: "sha256:1"}}
	complete := found(shop, aDeployment("web", "aaaa"))
	complete.Digests = digests
	refused := missing(shop, "db")
	refused.Problem = "The manager may not read objects of kind StatefulSet in namespace shop."
	refused.Source.Kind = "StatefulSet"
	got, problems := follow(&anEnvironment,
		step{1, []Found{complete, found(shop, aDeployment("api", "aaaa")), refused}, nil},
		step{2, []Found{found(shop, aDeployment("web", "aaaa")), found(shop, aDeployment("api", "bbbb", rolling)), refused}, nil})
	want := []v1alpha1.DeployedWorkload{
		{Kind: "Deployment", Namespace: "shop", Name: "api", UID: "uid-api", Revision: "r-bbbb", SHA: "bbbb", Message: "1 of 3 replicas of the Deployment api have it."},
		{Kind: "Deployment", Namespace: "shop", Name: "web", UID: "uid-web", Revision: "r-aaaa", SHA: "aaaa", Ready: true, Digests: digests},
		{Kind: "StatefulSet", Namespace: "shop", Name: "db", Message: refused.Problem},
	}
	if diff := cmp.Diff(want, got[0].Workloads); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{refused.Problem}, problems); diff != "" {
		t.Errorf("a rollout in progress is no problem, but the rights are\n%s", diff)
	}
	got, _ = follow(&anEnvironment, step{1, []Found{complete}, nil}, step{2, []Found{found(shop, aDeployment("web", "bbbb"))}, nil})
	if d := got[0].Workloads[0].Digests; d != nil {
		t.Errorf("another revision has the digests of the one before: %v", d)
	}
}

// TestStatusOfTooMany: no status says that all of a repository is ready if it is not known.
func TestStatusOfTooMany(t *testing.T) {
	var many []Found
	for i := range 23 {
		many = append(many, found(shop, aDeployment(fmt.Sprintf("web-%02d", i), "aaaa")))
	}
	_, problems := follow(&anEnvironment, step{1, many, nil})
	want := []string{`More than 20 objects have the repository "acme/shop". Only the first are looked at: name fewer, or give them several repositories or services.`}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
}

// TestStatusIsInOrder: a cache lists objects in no order, and the status must not change with it.
func TestStatusIsInOrder(t *testing.T) {
	var objects []Found
	for i := range 30 {
		objects = append(objects, found(shop, aDeployment(fmt.Sprintf("web-%02d", i), "", branched(fmt.Sprint("b", i)))))
	}
	want, problems := follow(&anEnvironment, step{1, objects, nil})
	if len(want[0].Workloads) != MaxWorkloads || want[0].Workloads[19].Name != "web-19" || len(want[0].Message) > maxMessage {
		t.Errorf("%d workloads, message %q", len(want[0].Workloads), want[0].Message)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		got, others := follow(&anEnvironment, step{1, objects, nil})
		if diff := cmp.Diff(want, got) + cmp.Diff(problems, others); diff != "" {
			t.Fatal(diff)
		}
	}
}

// TestStatusIsBounded: of 60 repositories, those with workloads stay, and of the others the newest, by name if they are as old.
func TestStatusIsBounded(t *testing.T) {
	e := anEnvironment.DeepCopy()
	var suites []*v1alpha1.Suite
	for i := range 59 {
		suites = append(suites, notify(fmt.Sprintf("acme/r%02d", i), "aaaa", i/3))
	}
	s := step{1000, []Found{missing("acme/old", "web")}, suites}
	for range 3 {
		e.Status.Deployed, _ = Status(observed(e, s))
		var got []string
		for _, d := range e.Status.Deployed {
			got = append(got, d.Repository)
		}
		if len(got) != maxParts || got[0] != "acme/old" || strings.Join(got[1:4], " ") != "acme/r09 acme/r10 acme/r12" || got[49] != "acme/r58" {
			t.Fatalf("%d: %v", len(got), got)
		}
	}
}

func TestRolloutChanged(t *testing.T) {
	was := []v1alpha1.Deployed{
		{Repository: "acme/pay", SHA: "aaaa", Since: at(1)},
		{Repository: shop, SHA: "aaaa", Since: at(1), Ready: new(true), Message: "m", Workloads: []v1alpha1.DeployedWorkload{{Name: "web"}}},
	}
	for name, tc := range map[string]struct {
		reason string
		change func(notified, seen *v1alpha1.Deployed)
		want   bool
	}{
		"nothing":       {"it is the same", func(_, _ *v1alpha1.Deployed) {}, false},
		"progress":      {"it may wait", func(_, d *v1alpha1.Deployed) { d.Message, d.Workloads[0].Message = "n", "n" }, false},
		"the branch":    {"it may wait", func(_, d *v1alpha1.Deployed) { d.Branch = "b" }, false},
		"the zone":      {"it is the same time", func(_, d *v1alpha1.Deployed) { d.Since = new(metav1.NewTime(d.Since.In(time.FixedZone("", 3600)))) }, false},
		"notified":      {"it may wait for others", func(d, _ *v1alpha1.Deployed) { d.SHA, d.Since = "bbbb", at(2) }, false},
		"the commit":    {"people wait for it", func(_, d *v1alpha1.Deployed) { d.SHA = "bbbb" }, true},
		"the time":      {"it was deployed again", func(_, d *v1alpha1.Deployed) { d.Since = at(2) }, true},
		"no time":       {"it is not deployed", func(_, d *v1alpha1.Deployed) { d.Since = nil }, true},
		"not ready":     {"people wait for it", func(_, d *v1alpha1.Deployed) { d.Ready = new(false) }, true},
		"pending":       {"the notification waits for the write", func(_, d *v1alpha1.Deployed) { d.Notification = v1alpha1.NotificationPending }, true},
		"workloads":     {"they are not watched any more", func(_, d *v1alpha1.Deployed) { d.Workloads = nil }, true},
		"created again": {"whoever looks next has to know that it was there", func(_, d *v1alpha1.Deployed) { d.Workloads[0].UID = "uid-2" }, true},
		"new ones":      {"they are watched now", func(d, _ *v1alpha1.Deployed) { d.Workloads = []v1alpha1.DeployedWorkload{{Name: "pay"}} }, true},
		"a repository":  {"it is another one", func(_, d *v1alpha1.Deployed) { d.Repository = "b" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			is := []v1alpha1.Deployed{*was[0].DeepCopy(), *was[1].DeepCopy()}
			tc.change(&is[0], &is[1])
			if got := RolloutChanged(was, is); got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
	}
	if !RolloutChanged(nil, was) || !RolloutChanged(was, nil) || RolloutChanged(nil, was[:1]) {
		t.Error("a repository with workloads that comes or goes is a change, and no other is")
	}
}

// TestStatusSequences: whatever is observed, since belongs to a commit, a status has its bounds, and what has been written needs not be
// written again.
func TestStatusSequences(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	for sequence := range 100 {
		e := anEnvironment.DeepCopy()
		var suites []*v1alpha1.Suite
		for minute := range 20 {
			s := anyStep(random, minute, &suites)
			e.Spec.Workloads = nil
			for _, f := range s.found {
				e.Spec.Workloads = append(e.Spec.Workloads, f.Workload)
			}
			was := e.Status.Deployed
			e.Status.Deployed, _ = Status(observed(e, s))
			check(t, was, e.Status.Deployed)
			s.minute += 5
			again, _ := Status(observed(e, s))
			if diff := cmp.Diff(e.Status.Deployed, again); diff != "" {
				t.Errorf("nothing happened, and the status changed\n%s", diff)
			}
			if t.Failed() {
				t.Fatalf("in sequence %d at minute %d:\n%s", sequence, minute, summary(e.Status.Deployed))
			}
		}
	}
}

func anyStep(random *rand.Rand, minute int, suites *[]*v1alpha1.Suite) step {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	s := step{minute: minute * 10}
	for _, name := range []string{"web", "api", "pay"} {
		repository := map[string]string{"pay": "acme/pay"}[name]
		switch random.IntN(6) {
		case 0:
			s.found = append(s.found, missing(repository, name))
		case 1:
			s.found = append(s.found, found(repository, aDeployment(name, one("aaaa", "bbbb", ""), rolling)))
		case 2:
		default:
			s.found = append(s.found, found(repository, aDeployment(name, one("aaaa", "bbbb", "cccc"), branched(one("", "main")))))
		}
	}
	if random.IntN(3) == 0 {
		*suites = append(*suites, notify(one("", "acme/pay", "acme/other"), one("aaaa", "bbbb", "cccc"), minute*10-random.IntN(25)))
	}
	if len(*suites) > 3 {
		*suites = (*suites)[1:]
	}
	s.suites = *suites
	return s
}

// check compares two statuses of which one follows the other.
func check(t *testing.T, was, is []v1alpha1.Deployed) {
	t.Helper()
	before := map[string]v1alpha1.Deployed{}
	for _, d := range was {
		before[d.Repository] = d
	}
	for i, d := range is {
		cameBack := d.Previous != nil && d.Previous.SHA != d.SHA && d.Previous.Since.After(since(before[d.Repository]))
		if b, known := before[d.Repository]; known && b.Since != nil && b.SHA == d.SHA && !since(b).Equal(since(d)) && !cameBack {
			t.Errorf("%q has %s since %s, and had it since %s", d.Repository, d.SHA, since(d), since(b))
		}
		if d.SHA != "" && d.Since == nil || (d.Since == nil) != (d.ReportedBy == "") {
			t.Errorf("%q has %q since %v by %q", d.Repository, d.SHA, d.Since, d.ReportedBy)
		}
		if (d.Ready == nil) != (len(d.Workloads) == 0) || d.Ready != nil && *d.Ready != (d.Message == "") {
			t.Errorf("%q with %d workloads is ready: %v, message %q", d.Repository, len(d.Workloads), d.Ready, d.Message)
		}
		if i > 0 && is[i-1].Repository >= d.Repository {
			t.Errorf("%q follows %q", d.Repository, is[i-1].Repository)
		}
	}
}
