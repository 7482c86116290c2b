package environment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
)

func trigger(name string) *v1alpha1.Trigger {
	return &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}, Spec: v1alpha1.TriggerSpec{Environment: "staging"}}
}

// ended is a run that was received some minutes ago, and took four.
func ended(name, trigger string, ago int, condition metav1.Condition, changes ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	return run(name, condition, append([]func(*v1alpha1.Suite){byTrigger(trigger), func(s *v1alpha1.Suite) {
		received := now.Add(-time.Duration(ago) * time.Minute)
		s.CreationTimestamp, s.Spec.ReceivedAt = metav1.NewTime(received), new(metav1.NewMicroTime(received))
	}, ran(0, 4*time.Minute)}, changes...)...)
}

func verdictOf(suites []*v1alpha1.Suite, changes ...func(*verdict.Question)) verdict.Verdict {
	q := verdict.Question{Commit: commit.New("", "", sha), Environment: staging(), Now: now, Suites: suites,
		Triggers: []*v1alpha1.Trigger{trigger("smoke"), trigger("checkout")}}
	for _, change := range changes {
		change(&q)
	}
	return verdict.Of(q)
}

func commitPage(v verdict.Verdict, reviews ...*v1alpha1.DeploymentReview) environment.CommitPage {
	return environment.CommitPageOf(environment.CommitSubject{Verdict: v, Reviews: reviews, Gates: []v1alpha1.DeploymentGate{
		{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: v1alpha1.DeploymentGateSpec{
			Source: "github", Environments: v1alpha1.NamePatterns{"eu-*"}, Requires: []v1alpha1.GateRequirement{{Environment: "staging"}}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "production"}, Spec: v1alpha1.DeploymentGateSpec{
			Requires: []v1alpha1.GateRequirement{{Environment: "staging"}}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "docs"}, Spec: v1alpha1.DeploymentGateSpec{
			Requires: []v1alpha1.GateRequirement{{Environment: "preview"}}}},
	}, Sites: codehost.Sites{v1alpha1.GitHub: "https://ghe.acme.test/"}})
}

func notNewer(s *v1alpha1.Suite) { s.Spec.Origin = v1alpha1.OriginSchedule }

func withSiblings(names ...string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Siblings = names }
}

// TestCommitPage: each state has a word and a shape of its own, and what can be started can be started.
func TestCommitPage(t *testing.T) {
	maxAge := func(d time.Duration) func(*verdict.Question) {
		return func(q *verdict.Question) {
			q.Environment.Spec.Gate = &v1alpha1.GateRule{MaxAge: &metav1.Duration{Duration: d}}
		}
	}
	other := testOf("", otherSHA)
	for name, tc := range map[string]struct {
		reason     string
		verdict    verdict.Verdict
		label, key string
		rows       []string // Trigger, label and key of each
		canStart   bool
	}{
		"unknown": {"A wrong commit is no failure.", verdictOf(nil), "No result", "none", nil, false},
		"passed": {"Nothing is missing.", verdictOf([]*v1alpha1.Suite{ended("a", "smoke", 10, passed)}),
			"Passed", "passed", []string{"smoke Passed passed"}, false},
		"failed": {"A gate does not repeat until tests pass.", verdictOf([]*v1alpha1.Suite{ended("a", "smoke", 10, failed)}),
			"Failed", "failed", []string{"smoke Failed failed"}, false},
		"timed out": {"The row says more than the verdict.", verdictOf([]*v1alpha1.Suite{ended("a", "smoke", 10, v1alpha1.TimedOut("Too slow."))}),
			"Failed", "failed", []string{"smoke Timed out timedout"}, false},
		"withdrawn": {"A later run failed.", verdictOf([]*v1alpha1.Suite{ended("b", "smoke", 10, failed, notNewer), ended("a", "smoke", 20, passed)}),
			"Withdrawn", "withdrawn", []string{"smoke Withdrawn withdrawn"}, false},
		"queued": {"The row says more than the verdict.", verdictOf([]*v1alpha1.Suite{run("a", v1alpha1.Queued("Waiting."))}),
			"Running", "running", []string{"smoke Queued queued"}, false},
		"missing": {"A sibling has no run.", verdictOf([]*v1alpha1.Suite{ended("a", "smoke", 10, passed, withSiblings("checkout"))}),
			"No result", "none", []string{"checkout No result none", "smoke Passed passed"}, true},
		"missing, and replaced": {"A run would test another commit.",
			verdictOf([]*v1alpha1.Suite{ended("b", "smoke", 5, passed, other), ended("a", "smoke", 10, passed, withSiblings("checkout"))}),
			"No result", "none", []string{"checkout No result none", "smoke Passed passed"}, false},
		"stale": {"It must not look like a pass.", verdictOf([]*v1alpha1.Suite{ended("a", "smoke", 90, passed)}, maxAge(time.Hour)),
			"Stale", "stale", []string{"smoke Stale stale"}, true},
		"canceled": {"", verdictOf([]*v1alpha1.Suite{ended("a", "smoke", 10, canceled)}), "No result", "none",
			[]string{"smoke Canceled canceled"}, true},
		"ended at an unknown time": {"It must not look like a pass.", verdictOf([]*v1alpha1.Suite{run("a", passed)}),
			"No result", "none", []string{"smoke No result none"}, true},
		"not old enough": {"It must not look like a pass.", verdictOf([]*v1alpha1.Suite{ended("a", "smoke", 10, passed)}, func(q *verdict.Question) {
			q.Rule = &v1alpha1.GateRule{MinAge: &metav1.Duration{Duration: time.Hour}}
		}), "Running", "running", []string{"smoke Passed passed"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := commitPage(tc.verdict)
			var rows []string
			for _, r := range p.Required {
				rows = append(rows, r.Name+" "+r.State.Label+" "+r.State.Key)
			}
			if p.State.Label != tc.label || p.State.Key != tc.key || p.CanStart != tc.canStart {
				t.Errorf("%s got %s (%s), can start %t", tc.reason, p.State.Label, p.State.Key, p.CanStart)
			}
			if diff := cmp.Diff(tc.rows, rows); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRuleInWords(t *testing.T) {
	hours := func(n time.Duration) *metav1.Duration { return &metav1.Duration{Duration: n * time.Hour} }
	for name, tc := range map[string]struct {
		rule *v1alpha1.GateRule
		want environment.Rule
	}{
		"none":         {nil, environment.Rule{Triggers: "all Triggers that matched", Ages: "however long ago"}},
		"one Trigger":  {&v1alpha1.GateRule{Triggers: []string{"smoke"}}, environment.Rule{Triggers: "the Trigger smoke", Ages: "however long ago"}},
		"two Triggers": {&v1alpha1.GateRule{Triggers: []string{"smoke", "x"}}, environment.Rule{Triggers: "2 Triggers by name", Ages: "however long ago"}},
		"both ages": {&v1alpha1.GateRule{MaxAge: hours(24), MinAge: hours(1)},
			environment.Rule{Triggers: "all Triggers that matched", Ages: "at most 24h ago, without a failure for 1h"}},
		"youngest only": {&v1alpha1.GateRule{MinAge: hours(1)},
			environment.Rule{Triggers: "all Triggers that matched", Ages: "however long ago, without a failure for 1h"}},
	} {
		v := verdictOf(nil, func(q *verdict.Question) { q.Environment.Spec.Gate = tc.rule })
		if diff := cmp.Diff(tc.want, commitPage(v).Rule); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestNewFailuresOfACommit: the page names new failures by their place on the page of the run, and no quarantined ones.
func TestNewFailuresOfACommit(t *testing.T) {
	results := &v1alpha1.TestResults{Tests: 20, Passed: 10, Failed: 10, NewFailures: 8, Failures: []v1alpha1.TestFailure{
		{Name: "old", History: v1alpha1.FailureKnown}, {Name: "flaky", History: v1alpha1.FailureNew, Quarantine: "q"}}}
	for _, name := range strings.Fields("a b c d e f g") {
		results.Failures = append(results.Failures, v1alpha1.TestFailure{Name: name + "\n\x1b[31m" + name, History: v1alpha1.FailureNew})
	}
	v := verdictOf([]*v1alpha1.Suite{ended("a", "smoke", 10, failed, func(s *v1alpha1.Suite) { s.Status.Results = results })})
	got := commitPage(v).Required[0]
	want := []environment.NewFailure{{Name: "a; a", Index: 0}, {Name: "b; b", Index: 1}, {Name: "c; c", Index: 2}, {Name: "d; d", Index: 3}, {Name: "e; e", Index: 4}}
	if diff := cmp.Diff(want, got.Failures); diff != "" || got.More != 3 || got.Message != "10 of 20 tests failed." {
		t.Errorf("%d more, %q: %s", got.More, got.Message, diff)
	}
}

func TestWhereACommitWas(t *testing.T) {
	first := ended("a", "smoke", 30, passed)
	still := commitPage(verdictOf([]*v1alpha1.Suite{first})).There
	if still.Since == nil || still.Until != nil || still.Next != "" {
		t.Errorf("still there: %+v", still)
	}
	gone := commitPage(verdictOf([]*v1alpha1.Suite{ended("b", "smoke", 10, passed, testOf("", otherSHA)), first})).There
	if gone.Until == nil || gone.Next != otherSHA || gone.NextSHA != otherSHA[:8] {
		t.Errorf("replaced: %+v", gone)
	}
	if unknown := commitPage(verdictOf(nil)).There; unknown.Since != nil || unknown.Until != nil {
		t.Errorf("unknown: %+v", unknown)
	}
}

func TestImagesUnderTest(t *testing.T) {
	ofWorkload := func(name, revision string, digests ...string) v1alpha1.TestedWorkload {
		w := v1alpha1.TestedWorkload{Kind: "Deployment", Name: name, Start: &v1alpha1.WorkloadVersion{UID: "u", SHA: revision}}
		for _, d := range digests {
			w.Start.Digests = append(w.Start.Digests, v1alpha1.ImageDigest{Container: "app", Digest: "sha256:" + d})
		}
		return w
	}
	tested := func(s *v1alpha1.Suite) {
		s.Status.UnderTest = &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{
			ofWorkload("shop", sha[:8], "0123456789abcdef"), ofWorkload("pay", otherSHA, "fedcba98"), {Kind: "Deployment"}}}
	}
	p := commitPage(verdictOf([]*v1alpha1.Suite{ended("a", "smoke", 10, passed, tested), ended("b", "checkout", 10, passed, tested)}))
	want := []environment.Image{{Workload: "Deployment shop", Container: "app", Short: "sha256:01234567", Whole: "sha256:0123456789abcdef"}}
	if diff := cmp.Diff(want, p.Images); diff != "" || p.MoreImages != 0 {
		t.Errorf("each image of the commit once: %s", diff)
	}
}

// TestCommandOfACommit: a revision that anyone may have written is one word of the shell.
func TestCommandOfACommit(t *testing.T) {
	for revision, want := range map[string]string{
		sha:                 "postflight gate --sha " + sha + " --environment staging --wait",
		"v1; rm -rf / #":    "postflight gate --sha 'v1; rm -rf / #' --environment staging --wait",
		"$(id)\n`id`'":      `postflight gate --sha '$(id); ` + "`id`" + `'\''' --environment staging --wait`,
		"--wait":            "postflight gate --sha '--wait' --environment staging --wait",
		"\x1b]8;;x\x07v1.2": "postflight gate --sha v1.2 --environment staging --wait",
	} {
		if got := commitPage(verdictOf(nil, func(q *verdict.Question) { q.Commit.Revision = revision })).Command; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	of := verdictOf(nil, func(q *verdict.Question) { q.Commit.Repository, q.Commit.Service = "acme/shop", "c art" })
	if got := commitPage(of).Command; !strings.Contains(got, " --repository acme/shop --service 'c art' ") {
		t.Error(got)
	}
}

func review(name string, minutesAgo int, changes ...func(*v1alpha1.DeploymentReview)) *v1alpha1.DeploymentReview {
	at := metav1.NewTime(now.Add(-time.Duration(minutesAgo) * time.Minute))
	r := &v1alpha1.DeploymentReview{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: at}, Spec: v1alpha1.DeploymentReviewSpec{
		Gate: "production", HostingService: v1alpha1.GitHub, Repository: "acme/shop", Environment: "prod", SHA: sha, RunID: 812, DeploymentID: 1}}
	for _, change := range changes {
		change(r)
	}
	return r
}

func decided(state v1alpha1.ReviewState, message string) func(*v1alpha1.DeploymentReview) {
	return func(r *v1alpha1.DeploymentReview) {
		r.Status.Decision = &v1alpha1.ReviewDecision{State: state, Message: message, Time: metav1.NewTime(r.CreationTimestamp.Add(time.Minute))}
	}
}

// TestWhoAsked: questions about the commit and what withdrew a pass, newest first, with links to nothing but the configured code host.
func TestWhoAsked(t *testing.T) {
	change := func(f func(*v1alpha1.DeploymentReviewSpec)) func(*v1alpha1.DeploymentReview) {
		return func(r *v1alpha1.DeploymentReview) { f(&r.Spec) }
	}
	undelivered := func(r *v1alpha1.DeploymentReview) {
		r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDelivered, Status: metav1.ConditionFalse, Message: "403\nForbidden"}}
	}
	withdrawn := verdictOf([]*v1alpha1.Suite{ended("b", "smoke", 20, failed, notNewer), ended("a", "smoke", 60, passed)})
	p := commitPage(withdrawn,
		review("approved", 50, decided(v1alpha1.ReviewApproved, "All passed.")),
		review("rejected", 10, decided(v1alpha1.ReviewRejected, "smoke\x1b[31m failed."), undelivered, change(func(r *v1alpha1.DeploymentReviewSpec) {
			r.RequestedBy = "GitHub: anna\nlee" // as events name people
		})),
		review("waits", 5, func(r *v1alpha1.DeploymentReview) { r.Status.LastReport = "1 run has not ended." }),
		review("hostile", 55, change(func(r *v1alpha1.DeploymentReviewSpec) { r.Repository = "acme/../evil" })),
		review("another commit", 5, change(func(r *v1alpha1.DeploymentReviewSpec) { r.SHA = otherSHA })),
		review("a part of the commit", 5, change(func(r *v1alpha1.DeploymentReviewSpec) { r.SHA = sha[:8] })),
		review("another gate", 5, change(func(r *v1alpha1.DeploymentReviewSpec) { r.Gate = "docs" })),
		review("another gate, and one for staging", 30, change(func(r *v1alpha1.DeploymentReviewSpec) {
			r.Gate, r.Source, r.Environment = "docs", "github", "EU-west"
		})),
		review("a gate that is gone", 70, change(func(r *v1alpha1.DeploymentReviewSpec) { r.Gate = "gone" })),
	)
	var got []string
	for _, a := range p.Asked {
		line := strings.Join([]string{a.At.Clock, a.State.Key, a.Host, a.By, a.Decision, a.Message, a.Undelivered, a.Run}, "|")
		if a.Waiting != nil {
			line += "|" + a.Waiting.URL
		}
		got = append(got, line)
	}
	there := "https://ghe.acme.test/acme/shop/actions/runs/812"
	want := []string{
		"11:55|running|GitHub|||1 run has not ended.|||" + there,
		"11:51|failed|GitHub|anna; lee|Rejected|smoke failed.|403; Forbidden||" + there,
		"11:44|withdrawn||||||b",
		"11:30|running|GitHub||||||" + there,
		"11:11|passed|GitHub||Approved|All passed.|||" + there,
		"11:05|running|GitHub||||||",
		"10:50|running|GitHub||||||" + there,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var many []*v1alpha1.DeploymentReview
	for range 25 {
		many = append(many, review("one", 5))
	}
	if p := commitPage(withdrawn, many...); len(p.Asked) != 20 || p.MoreAsked != 6 {
		t.Errorf("%d, and %d more", len(p.Asked), p.MoreAsked)
	}
	elsewhere := commitPage(verdictOf(nil, func(q *verdict.Question) { q.Commit.Repository = "acme/pay" }), review("of acme/shop", 5))
	if len(elsewhere.Asked) != 0 {
		t.Errorf("a question about another repository: %+v", elsewhere.Asked)
	}
}
