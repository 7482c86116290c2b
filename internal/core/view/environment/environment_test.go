package environment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
)

func staging(deployed ...v1alpha1.Deployed) *v1alpha1.Environment {
	return &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging", Namespace: "shop"}, Status: v1alpha1.EnvironmentStatus{Deployed: deployed}}
}

// pageOf is the page of an Environment with the Triggers smoke and visual.
func pageOf(e *v1alpha1.Environment, runs ...*v1alpha1.Suite) environment.Page {
	return pageAt(now, e, runs...)
}

func pageAt(now time.Time, e *v1alpha1.Environment, runs ...*v1alpha1.Suite) environment.Page {
	p, _ := environment.PageOf(e, runs, nil, func(c commit.Commit) (verdict.Verdict, error) {
		return verdict.Of(verdict.Question{Commit: c, Environment: e, Suites: runs, Now: now, Triggers: []*v1alpha1.Trigger{
			{ObjectMeta: metav1.ObjectMeta{Name: "smoke"}}, {ObjectMeta: metav1.ObjectMeta{Name: "visual"}},
		}}), nil
	}, environment.ParseDay("", now), now)
	return p
}

func testOf(repository, sha string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository, s.Spec.Deployment.SHA = repository, sha }
}

func byTrigger(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = name }
}

func ofService(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Service = name }
}

const otherSHA = "77d01b5e00000000000000000000000000000007"

func TestLead(t *testing.T) {
	shop := v1alpha1.Deployed{Repository: "acme/shop", SHA: sha, Since: new(metav1.NewTime(now.Add(-42 * time.Minute)))}
	rolling := shop
	rolling.Ready, rolling.Message = new(false), "2 of 3 pods are ready."
	pay := v1alpha1.Deployed{Repository: "acme/pay", SHA: otherSHA}
	cart, checkout := shop, shop
	cart.Service, checkout.Service, checkout.Since = "cart", "checkout", new(metav1.NewTime(now.Add(-time.Hour)))
	unreadable := staging(shop)
	unreadable.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "There is no Deployment shop."}}
	tested, took := testOf("acme/shop", sha), ran(0, time.Minute)
	strict := staging(shop)
	strict.Spec.Gate = &v1alpha1.GateRule{MaxAge: &metav1.Duration{Duration: time.Minute}}
	short := sha[:8]
	for name, tc := range map[string]struct {
		reason      string
		environment *v1alpha1.Environment
		runs        []*v1alpha1.Suite
		key, want   string
	}{
		"nothing":           {"Nobody notified, and no workload is named.", staging(), nil, "none", "Nothing is known to be deployed."},
		"runs only":         {"The status is new.", staging(), []*v1alpha1.Suite{run("a", passed)}, "none", "Nothing says what is deployed now. The last run that a notification started tests " + short + ", of 10 minutes ago."},
		"unreadable":        {"A problem comes first.", unreadable, nil, "error", "There is no Deployment shop."},
		"rolling out":       {"It comes before the tests.", staging(rolling), []*v1alpha1.Suite{run("a", failed, tested)}, "starting", "The rollout of acme/shop is not complete. 2 of 3 pods are ready."},
		"failed":            {"", staging(shop), []*v1alpha1.Suite{run("a", failed, tested)}, "failed", "smoke did not pass for " + short + " of acme/shop. The tests failed with exit code 1."},
		"fixed by a rerun":  {"The last one to end counts.", staging(shop), []*v1alpha1.Suite{run("b", passed, tested, ran(0, 2*time.Minute)), run("a", failed, tested, ran(0, time.Minute))}, "passed", short + " of acme/shop has been deployed for 42 minutes. smoke passed."},
		"two passed":        {"", staging(shop), []*v1alpha1.Suite{run("b", passed, tested, byTrigger("visual"), took), run("a", passed, tested, took)}, "passed", short + " of acme/shop has been deployed for 42 minutes. smoke and visual passed."},
		"withdrawn":         {"It was requested before, and ended last.", staging(shop), []*v1alpha1.Suite{run("b", passed, tested, took), run("a", failed, tested, ran(0, 2*time.Minute))}, "failed", "smoke did not pass for " + short + " of acme/shop. The tests failed with exit code 1."},
		"an older one runs": {"It may fail.", staging(shop), []*v1alpha1.Suite{run("b", passed, tested, took), run("a", running, tested)}, "running", short + " of acme/shop has been deployed for 42 minutes. No result yet of smoke."},
		"canceled again":    {"The result before counts.", staging(shop), []*v1alpha1.Suite{run("b", canceled, tested, ran(0, 2*time.Minute)), run("a", passed, tested, took)}, "passed", short + " of acme/shop has been deployed for 42 minutes. smoke passed."},
		"stale": {"A gate would refuse it.", strict, []*v1alpha1.Suite{run("a", passed, tested, took)}, "stale", short + " of acme/shop has been deployed for 42 minutes. " +
			"1 of 1 required Trigger passed for " + short + " on staging, but the result is stale: smoke. It passed 9 minutes ago, and a result counts for 1m."},
		"a run is missing": {"", staging(shop), []*v1alpha1.Suite{run("a", passed, tested, took, func(s *v1alpha1.Suite) { s.Spec.Siblings = []string{"visual"} })}, "none", short + " of acme/shop has been deployed for 42 minutes. " +
			"1 of 2 required Triggers has no result for " + short + " on staging: visual. It matched a deployment of this commit, and has no run of it."},
		"a backup":       {"It never ran here.", staging(shop), []*v1alpha1.Suite{run("a", passed, tested, took, func(s *v1alpha1.Suite) { s.CreationTimestamp = metav1.NewTime(now.Add(72 * time.Hour)) })}, "none", short + " of acme/shop has been deployed for 42 minutes. Nothing has tested " + short + " of acme/shop."},
		"running":        {"", staging(shop), []*v1alpha1.Suite{run("a", running, tested)}, "running", short + " of acme/shop has been deployed for 42 minutes. No result yet of smoke."},
		"stopped":        {"", staging(shop), []*v1alpha1.Suite{run("a", canceled, tested)}, "canceled", short + " of acme/shop has been deployed for 42 minutes. No result of smoke, because it was stopped."},
		"inconclusive":   {"", staging(shop), []*v1alpha1.Suite{run("a", inconclusive, tested)}, "inconclusive", short + " of acme/shop has been deployed for 42 minutes. No result of smoke, because something was deployed meanwhile."},
		"another commit": {"It tested what was there before.", staging(shop), []*v1alpha1.Suite{run("a", failed, testOf("acme/shop", otherSHA))}, "none", short + " of acme/shop has been deployed for 42 minutes. Nothing has tested " + short + " of acme/shop."},
		"services":       {"Each is tested on its own.", staging(cart, checkout), []*v1alpha1.Suite{run("a", passed, tested, ofService("cart"))}, "none", "2 services are deployed; cart in acme/shop changed last, 42 minutes ago. Nothing has tested " + short + " of checkout in acme/shop."},
		"several":        {"", staging(pay, shop), []*v1alpha1.Suite{run("a", passed, tested)}, "none", "2 repositories are deployed; acme/shop changed last, 42 minutes ago. Nothing has tested 77d01b5e of acme/pay."},
		"unnamed":        {"Workloads have several commits.", staging(v1alpha1.Deployed{}), nil, "none", "Something is deployed. Nothing has tested it."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pageOf(tc.environment, tc.runs...).Lead; got.Text != tc.want || got.Key != tc.key {
				t.Errorf("%s Got %s: %q\nwant %s: %q", tc.reason, got.Key, got.Text, tc.key, tc.want)
			}
		})
	}
}

func TestTestedBy(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		deployed string
		tested   func(*v1alpha1.Suite)
		want     bool
	}{
		"the commit":         {"", sha, testOf("acme/shop", sha), true},
		"the tag of image":   {"It has the first digits.", sha[:7], testOf("acme/shop", sha), true},
		"too few digits":     {"They could be of another commit.", sha[:6], testOf("acme/shop", sha), false},
		"a version":          {"It is no beginning of a commit.", "v1.2", testOf("acme/shop", "v1.2.3"), false},
		"the same version":   {"", "v1.2", testOf("acme/shop", "v1.2"), true},
		"another spelling":   {"Code hosts ignore the case.", sha, testOf("Acme/Shop", sha), true},
		"another repository": {"", sha, testOf("acme/pay", sha), false},
		"several commits":    {"Nothing tested all of them.", "", testOf("acme/shop", ""), false},
		"no repository":      {"The workloads name only one.", sha, testOf("", sha), true},
	} {
		t.Run(name, func(t *testing.T) {
			e := staging(v1alpha1.Deployed{Repository: "acme/shop", SHA: tc.deployed})
			e.Spec.Workloads = []v1alpha1.Workload{{Name: "shop", Repository: "acme/shop"}, {Name: "jobs", Repository: "acme/shop"}}
			got := environment.DeployedIn(e, []*v1alpha1.Suite{run("a", passed, tc.tested)}, now)[0].Runs
			if (len(got) == 1) != tc.want {
				t.Errorf("%s Got %v", tc.reason, got)
			}
		})
	}
}

// TestDeployedCommitLinks: a commit that no run has tested is where the other commits of its repository are.
func TestDeployedCommitLinks(t *testing.T) {
	gitlab := func(s *v1alpha1.Suite) {
		s.Spec.Deployment = v1alpha1.Deployment{Repository: "acme/shop", SHA: otherSHA, HostingService: v1alpha1.GitLab, CommitURL: "https://git.example.com/acme/shop/-/commit/" + otherSHA}
	}
	spelled := func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository = "Acme/Shop" }
	for name, tc := range map[string]struct {
		sha  string
		runs []*v1alpha1.Suite
		want string
	}{
		"without runs":           {sha, nil, "https://github.com/acme/shop/commit/" + sha},
		"with runs of another":   {sha, []*v1alpha1.Suite{run("a", passed, gitlab)}, "https://git.example.com/acme/shop/-/commit/" + sha},
		"of another spelling":    {sha, []*v1alpha1.Suite{run("a", passed, gitlab, spelled)}, "https://git.example.com/acme/shop/-/commit/" + sha},
		"the digits of a commit": {otherSHA[:8], []*v1alpha1.Suite{run("a", passed, gitlab)}, "https://git.example.com/acme/shop/-/commit/" + otherSHA},
		"a version":              {"v1.2", nil, ""},
		"of workloads of GitLab": {sha, []*v1alpha1.Suite{}, "https://gitlab.com/acme/shop/-/commit/" + sha},
	} {
		t.Run(name, func(t *testing.T) {
			e := staging(v1alpha1.Deployed{Repository: "acme/shop", SHA: tc.sha})
			if tc.runs != nil {
				e.Spec.Workloads = []v1alpha1.Workload{{Name: "shop", Repository: "Acme/shop", HostingService: v1alpha1.GitLab}}
			}
			got := environment.DeployedIn(e, tc.runs, now)[0].Commit
			if got.URL != tc.want {
				t.Errorf("%q, want %q", got.URL, tc.want)
			}
		})
	}
}

func TestDeployedWorkloads(t *testing.T) {
	e := staging(v1alpha1.Deployed{SHA: sha, DeploymentType: "staging", ReportedBy: v1alpha1.ReportedByWorkload, Workloads: []v1alpha1.DeployedWorkload{
		{Kind: "Deployment", Namespace: "shop", Name: "shop", SHA: sha, Ready: true, Message: "3 of 3 ready",
			Digests: []v1alpha1.ImageDigest{{Container: "app", Digest: "sha256:9c1d2e3f4a5b"}, {Container: "odd", Digest: "odd"}}},
		{Kind: "Application", Namespace: "argocd", Name: "shop", SHA: otherSHA},
		{Kind: "StatefulSet", Namespace: "shop", Name: "jobs", SHA: sha[:7], Ready: true}, // the tag of its image
	}})
	want := environment.Deployed{
		Commit: &view.Link{Text: sha[:8]}, Revision: sha, By: "the rollout", Ready: true, Workloads: []environment.Workload{
			{Kind: "Deployment", Name: "shop", Ready: true, Message: "3 of 3 ready",
				Digests: []environment.Digest{{Container: "app", Short: "sha256:9c1d2e3f", Whole: "sha256:9c1d2e3f4a5b"}, {Container: "odd", Short: "odd", Whole: "odd"}}},
			{Kind: "Application", Name: "shop", Namespace: "argocd", Message: "not rolled out", SHA: otherSHA[:8]},
			{Kind: "StatefulSet", Name: "jobs", Ready: true},
		},
	}
	if diff := cmp.Diff(want, environment.DeployedIn(e, nil, now)[0]); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironmentsInList(t *testing.T) {
	many := staging(v1alpha1.Deployed{Repository: "a"}, v1alpha1.Deployed{Repository: "b"}, v1alpha1.Deployed{Repository: "c"}, v1alpha1.Deployed{Repository: "d"})
	e := environment.SummariesOf([]*v1alpha1.Environment{many}, nil, now)[0]
	var names []string
	for _, d := range e.First() {
		names = append(names, d.Repository)
	}
	if got := strings.Join(names, " "); got != "a b c" || e.Others() != 1 {
		t.Errorf("%s and %d more", got, e.Others())
	}
}
