package workloads

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// look is what the manager sees a minute after the look before.
type look struct {
	found  []Found
	suites []*v1alpha1.Suite
	team   team
	quiet  bool // no workload has notify
	fails  bool // the notification
}

type team int

const (
	active team = iota
	suspended
	absent
)

func (of team) object() *v1alpha1.Team {
	switch of {
	case suspended:
		return &v1alpha1.Team{Spec: v1alpha1.TeamSpec{Suspended: true}}
	case absent:
		return nil
	default:
		return &v1alpha1.Team{}
	}
}

// calls returns the notifications that the manager makes: the commits, and when the ones before them came. As the manager does, it stores a
// pending notification before it makes it.
func calls(e *v1alpha1.Environment, looks ...look) (all []string) {
	e = e.DeepCopy()
	for minute, l := range looks {
		for range 2 {
			o := Observed{Environment: e, Team: l.team.object(), Suites: l.suites, Now: minutes(minute)}
			for _, f := range l.found {
				f.Workload.Notify = !l.quiet
				o.Found = append(o.Found, f)
			}
			before := e.Status.Deployed
			e.Status.Deployed, _ = Status(o)
			for i := range e.Status.Deployed {
				d := &e.Status.Deployed[i]
				if d.Notification != v1alpha1.NotificationPending || l.fails || i >= len(before) || before[i].Notification != v1alpha1.NotificationPending {
					continue
				}
				text := d.SHA
				if d.Previous != nil {
					text += " after " + d.Previous.Since.UTC().Format("15:04")
				}
				all = append(all, text)
				d.Notification = v1alpha1.NotificationSent
			}
		}
	}
	return all
}

const a, b, c = "aaaaaaa", "bbbbbbb", "ccccccc"

func revised(u *unstructured.Unstructured) {
	set("r-other", "metadata", "annotations", "deployment.kubernetes.io/revision")(u)
}

func recreated(u *unstructured.Unstructured) { set("uid-other", "metadata", "uid")(u) }

// tagged has the commit in the tag only.
func tagged(u *unstructured.Unstructured) {
	sha := annotation(u, AnnotationSHA)
	unstructured.RemoveNestedField(u.Object, "spec", "template", "metadata", "annotations", AnnotationSHA)
	set([]any{fields{"name": "web", "image": "registry.example.com/shop:" + sha}}, "spec", "template", "spec", "containers")(u)
}

// of gives a workload whose rollout is complete the digest that its pods have.
func (f Found) of(digest string) Found {
	f.Digests = []v1alpha1.ImageDigest{{Container: "web", Digest: digest}}
	return f
}

func TestNotifications(t *testing.T) {
	web := func(sha string, change ...change) Found { return found(shop, aDeployment("web", sha, change...)) }
	api := func(sha string, change ...change) Found { return found(shop, aDeployment("api", sha, change...)) }
	gone, forbidden := missing(shop, "web"), missing(shop, "web")
	forbidden.Problem = "The manager may not read objects of kind Deployment in namespace shop."
	see := func(f ...Found) look { return look{found: f} }
	but := func(l look, change func(*look)) look { change(&l); return l }
	fails, quiet := func(l *look) { l.fails = true }, func(l *look) { l.quiet = true }
	of := func(other team) func(*look) { return func(l *look) { l.team = other } }
	whole := strings.Repeat("b", 40)
	for name, tc := range map[string]struct {
		reason string
		looks  []look
		want   string
	}{
		"first sight":              {"it ran before the Environment named it", []look{see(web(a)), see(web(a))}, ""},
		"rollout":                  {"another commit is complete", []look{see(web(a)), see(web(b, rolling)), see(web(b)), see(web(b))}, "bbbbbbb after 12:00"},
		"rollout in progress":      {"it is not complete", []look{see(web(a)), see(web(b, rolling))}, ""},
		"manager off meanwhile":    {"what it sees is another commit", []look{see(web(a)), see(web(b))}, "bbbbbbb after 12:00"},
		"off for two rollouts":     {"nobody saw the one between", []look{see(web(a)), see(web(c))}, "ccccccc after 12:00"},
		"rollback":                 {"each is a deployment", []look{see(web(a)), see(web(b)), see(web(a))}, "bbbbbbb after 12:00, aaaaaaa after 12:01"},
		"restart":                  {"another revision has the same commit", []look{see(web(a)), see(web(a, revised, rolling)), see(web(a, revised))}, ""},
		"scaling":                  {"replicas come, and the commit stays", []look{see(web(a)), see(web(a, set(int64(5), "spec", "replicas"))), see(web(a))}, ""},
		"a failed rollout":         {"the old commit is still deployed", []look{see(web(a)), see(web(b, failed))}, ""},
		"undone":                   {"nothing was deployed", []look{see(web(a)), see(web(b, failed)), see(web(a, rolling)), see(web(a))}, ""},
		"failed, then another":     {"the next one counts, and what was deployed before it", []look{see(web(a)), see(web(b, failed)), see(web(c))}, "ccccccc after 12:00"},
		"equal digest, tag":        {"the tag alone changed", []look{see(web(a, tagged).of("1")), see(web(b, tagged, rolling)), see(web(b, tagged).of("1"))}, ""},
		"equal digest, twice":      {"and changed again", []look{see(web(a, tagged).of("1")), see(web(b, tagged).of("1")), see(web(c, tagged).of("2"))}, "ccccccc after 12:01"},
		"another digest, tag":      {"the code changed", []look{see(web(a, tagged).of("1")), see(web(b, tagged, rolling)), see(web(b, tagged).of("2"))}, "bbbbbbb after 12:00"},
		"unknown digests, tag":     {"they may differ", []look{see(web(a, tagged)), see(web(b, tagged))}, "bbbbbbb after 12:00"},
		"equal digest, annotation": {"somebody wrote that it is another commit", []look{see(web(a).of("1")), see(web(b).of("1"))}, "bbbbbbb after 12:00"},
		"equal digest, untold":     {"nobody was told of these images", []look{see(web(a, tagged).of("1")), but(see(web(b, tagged).of("2")), fails), see(web(c, tagged).of("2"))}, "ccccccc after 12:01"},

		"two workloads":              {"they are one deployment", []look{see(web(a), api(a)), see(web(b, rolling), api(a)), see(web(b), api(b, rolling)), see(web(b), api(b))}, "bbbbbbb after 12:00"},
		"several commits between":    {"they are a part of the rollout, and CI may have notified before", []look{see(web(a), api(a)), see(web(b), api(a)), see(web(b), api(b))}, "bbbbbbb after 12:00"},
		"several, and undone":        {"all of them had another commit at no time", []look{see(web(a), api(a)), see(web(b), api(a)), see(web(a), api(a))}, ""},
		"several, undone, then next": {"a rollout follows", []look{see(web(a), api(a)), see(web(b), api(a)), see(web(a), api(a)), see(web(b), api(b))}, "bbbbbbb after 12:02"},
		"several first":              {"then they agree", []look{see(web(b), api(a)), see(web(b), api(b))}, "bbbbbbb"},
		"one is ready earlier":       {"its image changed, and the other one's did not", []look{see(web(a, tagged).of("1"), api(a, tagged).of("2")), see(web(b, tagged).of("3"), api(b, tagged, rolling)), see(web(b, tagged), api(b, tagged).of("2"))}, "bbbbbbb after 12:00"},
		"both have equal digests":    {"both tags changed, and no image", []look{see(web(a, tagged).of("1"), api(a, tagged).of("2")), see(web(b, tagged, rolling), api(b, tagged, rolling)), see(web(b, tagged).of("1"), api(b, tagged).of("2"))}, ""},
		"one more workload":          {"and the same commit", []look{see(web(a)), see(web(a), api(a))}, ""},
		"one more, another commit":   {"all have it", []look{see(web(a)), see(web(b), api(b))}, "bbbbbbb after 12:00"},

		"suspended team":          {"its runs would not start", []look{see(web(a)), but(see(web(b)), of(suspended)), see(web(b))}, ""},
		"after a suspension":      {"the next rollout counts", []look{see(web(a)), but(see(web(b)), of(suspended)), see(web(c))}, "ccccccc after 12:01"},
		"suspended while pending": {"as if it had been before", []look{see(web(a)), but(see(web(b)), fails), but(see(web(b)), of(suspended)), see(web(b))}, ""},
		"no team":                 {"there are no Triggers", []look{see(web(a)), but(see(web(b)), of(absent)), see(web(b))}, ""},
		"notify comes":            {"what is deployed is no news", []look{but(see(web(a)), quiet), but(see(web(b)), quiet), see(web(b))}, ""},
		"notify came":             {"the next rollout counts", []look{but(see(web(a)), quiet), see(web(a)), see(web(b))}, "bbbbbbb after 12:00"},
		"notify comes in rollout": {"it completes later", []look{but(see(web(a)), quiet), see(web(b, rolling)), see(web(b))}, "bbbbbbb after 12:00"},
		"notify goes":             {"before it was sent", []look{see(web(a)), but(see(web(b)), fails), but(see(web(b)), quiet), see(web(b))}, ""},
		"notify comes and goes":   {"it was sent already", []look{see(web(a)), see(web(b)), but(see(web(b)), quiet), see(web(b))}, "bbbbbbb after 12:00"},

		"fails at first":     {"it is made again", []look{see(web(a)), but(see(web(b)), fails), but(see(web(b)), fails), see(web(b))}, "bbbbbbb after 12:00"},
		"not ready again":    {"the rollout was complete", []look{see(web(a)), but(see(web(b)), fails), see(web(b, rolling))}, "bbbbbbb after 12:00"},
		"restarted before":   {"the same", []look{see(web(a)), but(see(web(b)), fails), but(see(web(b, revised, rolling)), fails), see(web(b, revised))}, "bbbbbbb after 12:00"},
		"a newer in between": {"the older one is not deployed any more", []look{see(web(a)), but(see(web(b)), fails), but(see(web(c, rolling)), fails), see(web(c))}, "ccccccc after 12:01"},
		"back in between":    {"it is a rollback", []look{see(web(a)), but(see(web(b)), fails), see(web(a))}, "aaaaaaa after 12:01"},

		"recreated":                    {"with the same commit", []look{see(web(a)), see(gone), see(web(a, recreated, rolling)), see(web(a, recreated))}, ""},
		"recreated with another":       {"it is deployed", []look{see(web(a)), see(gone), see(web(b, recreated, rolling)), see(web(b, recreated))}, "bbbbbbb after 12:00"},
		"recreated, seen when ready":   {"nobody saw it come", []look{see(web(a)), see(gone), see(gone), see(web(b, recreated))}, "bbbbbbb after 12:00"},
		"recreated, manager off":       {"nobody saw it go", []look{see(web(a)), see(web(b, recreated))}, "bbbbbbb after 12:00"},
		"deployed for the first time":  {"its rollout was seen", []look{see(gone), see(web(a, rolling)), see(web(a))}, "aaaaaaa"},
		"first time, seen when ready":  {"it might have run before somebody allowed to read it", []look{see(gone), see(web(a))}, ""},
		"rights come":                  {"it ran before", []look{see(forbidden), see(web(a))}, ""},
		"rights lost and back":         {"with the same commit", []look{see(web(a)), see(forbidden), see(web(a))}, ""},
		"rights lost, another commit":  {"it was deployed meanwhile", []look{see(web(a)), see(forbidden), see(forbidden), see(web(b))}, "bbbbbbb after 12:00"},
		"rights lost, equal digest":    {"the tag alone changed", []look{see(web(a, tagged).of("1")), see(forbidden), see(web(b, tagged).of("1"))}, ""},
		"rights lost before it is":     {"it is known what was deployed", []look{see(web(a)), but(see(web(b)), fails), see(forbidden)}, "bbbbbbb after 12:00"},
		"another workload":             {"it ran before the Environment named it", []look{see(web(a)), see(api(b))}, ""},
		"named no more, and again":     {"the same", []look{see(web(a)), see(), see(web(b))}, ""},
		"named after notifications":    {"the same", []look{{suites: []*v1alpha1.Suite{notify(shop, a, 0)}}, see(web(b))}, ""},
		"names a commit at last":       {"its pods did not change, but nobody tested it", []look{see(web("")), see(web(a))}, "aaaaaaa"},
		"CI names the whole commit":    {"the tag was its beginning", []look{see(web(a, tagged)), see(web(b, tagged)), {found: []Found{web(b, tagged)}, suites: []*v1alpha1.Suite{notify(shop, whole, 2)}}}, "bbbbbbb after 12:00"},
		"CI named it before":           {"the run has the whole one", []look{see(web(a, tagged)), {found: []Found{web(b, tagged)}, suites: []*v1alpha1.Suite{notify(shop, whole, 1)}}}, whole + " after 12:00"},
		"CI names it before it is out": {"as whole", []look{see(web(a, tagged)), but(see(web(b, tagged)), fails), {found: []Found{web(b, tagged)}, suites: []*v1alpha1.Suite{notify(shop, whole, 2)}}}, whole + " after 12:01"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(calls(&anEnvironment, tc.looks...), ", "); got != tc.want {
				t.Errorf("%s: notified %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestRolloutKey: it stays the same until the notification is sent, whatever happens to the objects, and no other rollout has it.
func TestRolloutKey(t *testing.T) {
	web := func(sha string, change ...change) Found {
		return found(shop, aDeployment("web", sha, append(change, set("r-1", "metadata", "annotations", "deployment.kubernetes.io/revision"))...))
	}
	keyAfter := func(steps ...step) string {
		t.Helper()
		got, _ := follow(&anEnvironment, steps...)
		return RolloutKey(got[0])
	}
	first := []step{{0, []Found{web(a)}, nil}}
	second := slices.Concat(first, []step{{1, []Found{web(b)}, nil}})
	key := keyAfter(second...)
	for name, then := range map[string]step{
		"later":     {9, []Found{web(b)}, nil},
		"restarted": {9, []Found{web(b, revised, rolling)}, nil},
		"recreated": {9, []Found{web(b, recreated)}, nil},
		"next":      {9, []Found{web(c, rolling)}, nil},
		"gone":      {9, []Found{missing(shop, "web")}, nil},
		"notified":  {9, []Found{web(b)}, []*v1alpha1.Suite{notify(shop, b, 8)}},
	} {
		if got := keyAfter(append(second[:2:2], then)...); got != key {
			t.Errorf("%s: %q, want %q", name, got, key)
		}
	}
	if again := keyAfter(append(second[:2:2], step{2, []Found{web(a)}, nil})...); again == keyAfter(first...) || again == key {
		t.Errorf("a rollback to equal revisions has the key %q of another rollout", again)
	}
	var many []v1alpha1.DeployedWorkload
	for i := range MaxWorkloads {
		many = append(many, v1alpha1.DeployedWorkload{UID: "5ca1ab1e-0ddb-a115-5ca1-ab1e0ddba115", Revision: fmt.Sprintf("main@sha1:%040d", i)})
	}
	if key := RolloutKey(v1alpha1.Deployed{SHA: a, Since: at(1), Workloads: many}); len(key) > 255 { // the bound of a Suite's notifiedAgainBy
		t.Errorf("%d bytes: %s", len(key), key)
	}
}

// TestNotification: a rollout says what CI would have said.
func TestNotification(t *testing.T) {
	e := anEnvironment.DeepCopy()
	e.Spec.Workloads = []v1alpha1.Workload{
		{Name: "pay", Repository: "acme/pay", HostingService: v1alpha1.GitLab}, {Name: "web", Repository: shop}, {Name: "api", Repository: "acme/api"},
	}
	for _, d := range []v1alpha1.Deployed{
		{Repository: shop, SHA: a, Branch: "main", DeploymentType: "push"}, {Repository: "acme/pay", SHA: b},
	} {
		want := v1alpha1.GitHub
		if d.Repository != shop {
			want = v1alpha1.GitLab
		}
		n := Notification(e, d)
		got := []string{n.Repository, n.SHA, n.Branch, n.DeploymentType, string(n.HostingService)}
		if diff := cmp.Diff([]string{d.Repository, d.SHA, d.Branch, d.DeploymentType, string(want)}, got); diff != "" {
			t.Error(diff)
		}
	}
}
