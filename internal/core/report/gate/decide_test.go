package gate_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

const repository = "acme/shop"

var (
	sha   = strings.Repeat("a1", 20)
	asked = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

// observed is a question about a commit that passed in staging an hour ago.
func observed(change ...func(*gate.Observation)) gate.Observation {
	g := &v1alpha1.DeploymentGate{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "production", Generation: 1}}
	g.Spec.Source, g.Spec.Environments = "hub", v1alpha1.NamePatterns{"production"}
	g.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	r := &v1alpha1.DeploymentReview{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "review", CreationTimestamp: metav1.NewTime(asked)}}
	r.Spec = v1alpha1.DeploymentReviewSpec{
		Gate: "production", Source: "hub", HostingService: v1alpha1.GitHub, Repository: repository, Environment: "production", SHA: sha, RunID: 7,
	}
	o := gate.Observation{
		Review: r, Source: &v1alpha1.EventSource{Spec: v1alpha1.EventSourceSpec{Type: v1alpha1.EventsOfGitHub}}, Team: &v1alpha1.Team{},
		Allowed: true, Answers: g, PublicURL: "https://ci.example.com",
		Gates:   []gate.Gate{{DeploymentGate: g, Requires: []gate.Required{{Environment: "staging", Known: true, Verdict: verdictOf(run("Passed", -time.Hour))}}}},
		Pending: &report.Pending{Waiting: true, SHA: sha, Repository: repository, HeadRepository: "Acme/Shop", Environment: "production"},
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

// run ended some time after the question, or has not ended.
func run(state string, after time.Duration) *v1alpha1.Suite {
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{
		Namespace: "acme", Name: "smoke-1", UID: "1", CreationTimestamp: metav1.NewTime(asked.Add(-2 * time.Hour)),
	}}
	s.Spec.Trigger.Name, s.Spec.Environment = "smoke", "staging"
	s.Spec.Deployment = v1alpha1.Deployment{Repository: repository, SHA: sha}
	condition := metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: state}
	switch state {
	case v1alpha1.ReasonPassed:
		condition.Status = metav1.ConditionTrue
	case v1alpha1.ReasonRunning:
	default:
		condition.Status = metav1.ConditionFalse
	}
	if condition.Status != metav1.ConditionUnknown {
		s.Status.CompletionTime = new(metav1.NewTime(asked.Add(after)))
	}
	s.Status.Conditions = []metav1.Condition{condition}
	return s
}

func verdictOf(runs ...*v1alpha1.Suite) verdict.Verdict {
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "staging", CreationTimestamp: metav1.NewTime(asked.AddDate(0, 0, -9))}}
	t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke"}}
	return verdict.Of(verdict.Question{
		Commit: commit.New(repository, "", sha), Environment: e, Triggers: []*v1alpha1.Trigger{t}, Suites: runs, Now: asked,
	})
}

func with(runs ...*v1alpha1.Suite) func(*gate.Observation) {
	return func(o *gate.Observation) { o.Gates[0].Requires[0].Verdict = verdictOf(runs...) }
}

func stored(state v1alpha1.ReviewState) func(*gate.Observation) {
	return func(o *gate.Observation) {
		o.Review.Status.Decision, o.Review.Status.Attempts = &v1alpha1.ReviewDecision{State: state, Message: "As stored."}, 1
	}
}

func pending(change func(*report.Pending)) func(*gate.Observation) {
	return func(o *gate.Observation) { change(o.Pending) }
}

func another(change func(*gate.Gate)) func(*gate.Observation) {
	return func(o *gate.Observation) {
		g := gate.Gate{DeploymentGate: o.Gates[0].DeepCopy(), Requires: append([]gate.Required{}, o.Gates[0].Requires...)}
		g.Name = "second"
		change(&g)
		o.Gates = append(o.Gates, g)
	}
}

func TestNext(t *testing.T) {
	const approved, rejected = v1alpha1.ReviewApproved, v1alpha1.ReviewRejected
	unasked := func(o *gate.Observation) { o.Pending = nil }
	failed := func(g *gate.Gate) { g.Requires[0].Verdict = verdictOf(run("Failed", -time.Hour)) }
	runningThere := func(g *gate.Gate) { g.Requires[0].Verdict = verdictOf(run("Running", 0)) }
	noSHA := func(o *gate.Observation) { o.Review.Spec.SHA = "" }
	onGitLab := func(o *gate.Observation) {
		o.Review.Spec.HostingService, o.Source.Spec.Type = v1alpha1.GitLab, v1alpha1.EventsOfGitLab
	}
	for name, tc := range map[string]struct {
		reason  string
		given   []func(*gate.Observation)
		after   time.Duration
		decides v1alpha1.ReviewState
		says    string // in the decision, in what is waited for, or in why it ended
		asks    bool
		ends    bool
	}{
		"passed":                     {"it is green", nil, 0, approved, "passed for a1a1a1a1 on staging", false, false},
		"passed, unasked":            {"the code host says first that it waits", of(unasked), 0, "", "", true, false},
		"failed":                     {"it is red", of(with(run("Failed", -time.Hour))), 0, rejected, "failed", false, false},
		"failed, unasked":            {"what the code host says changes nothing", of(unasked, with(run("Failed", 0))), 0, rejected, "failed", false, false},
		"running":                    {"it may pass", of(with(run("Running", 0))), time.Hour, "", "not ended", false, false},
		"running for too long":       {"the timeout is over", of(with(run("Running", 0))), 2 * time.Hour, rejected, "until 2h had passed", false, false},
		"none":                       {"the notification may come", of(with()), 4 * time.Minute, "", "No run", false, false},
		"none for too long":          {"no notification came", of(with()), 5 * time.Minute, rejected, "No run", false, false},
		"without a result just now":  {"it may have a successor", of(with(run("Inconclusive", 10*time.Minute))), 12 * time.Minute, "", "no result", false, false},
		"without a result":           {"it has none", of(with(run("Inconclusive", 10*time.Minute))), 15 * time.Minute, rejected, "no result", false, false},
		"an unknown Environment":     {"nothing can pass there", of(func(o *gate.Observation) { o.Gates[0].Requires[0].Known = false }), 0, rejected, "does not exist", false, false},
		"without Triggers":           {"nothing can run there", of(func(o *gate.Observation) { o.Gates[0].Requires[0].Triggers = nil }), 0, rejected, "No Trigger", false, false},
		"a suspended team":           {"the operator stopped it", of(func(o *gate.Observation) { o.Team = &v1alpha1.Team{Spec: v1alpha1.TeamSpec{Suspended: true}} }), 0, rejected, "suspended", false, false},
		"no team":                    {"its runs are of nobody", of(func(o *gate.Observation) { o.Team = nil }), 0, rejected, "no Team", false, false},
		"no source":                  {"what asked is gone", of(func(o *gate.Observation) { o.Source = nil }), 0, rejected, "does not exist any more", false, false},
		"a source of another type":   {"it cannot have asked", of(func(o *gate.Observation) { o.Source.Spec.Type = v1alpha1.EventsOfFlux }), 0, rejected, "another type", false, false},
		"a source of others":         {"it must cover the repository", of(func(o *gate.Observation) { o.Source.Spec.Repositories = []string{"acme/docs"} }), 0, rejected, "does not list", false, false},
		"not allowed":                {"the App is the manager's", of(func(o *gate.Observation) { o.Allowed = false }), 0, rejected, "App decides nothing", false, false},
		"contested":                  {"one team must not approve for another", of(func(o *gate.Observation) { o.Review.Spec.Contested = true }), 0, rejected, "several teams", false, false},
		"another team decides":       {"its Team alone names the repository", of(others), 0, "", "another team", false, true},
		"another team decides now":   {"a stored rejection is not sent either", of(stored(rejected), others), 0, "", "another team", false, true},
		"several teams decide":       {"neither may approve for the other", of(others, ours), 0, rejected, "several teams", false, false},
		"no gate decides":            {"it was changed", of(func(o *gate.Observation) { o.Gates = nil }), 0, rejected, "No DeploymentGate", false, false},
		"no gate is left":            {"it was deleted", of(func(o *gate.Observation) { o.Gates, o.Answers = nil, nil }), 0, "", "No gate", false, true},
		"a gate that is not Ready":   {"it may be repaired", of(func(o *gate.Observation) { o.Gates[0].Status.Conditions[0].Status = metav1.ConditionFalse }), 0, "", "not Ready", false, false},
		"a gate that stays so":       {"it was not", of(func(o *gate.Observation) { o.Gates[0].Status.Conditions[0].Status = metav1.ConditionFalse }), time.Hour, rejected, "not Ready", false, false},
		"a gate that was changed":    {"it is checked first", of(func(o *gate.Observation) { o.Gates[0].Generation = 2 }), 0, "", "not been checked", false, false},
		"a gate that is new":         {"it is checked first", of(func(o *gate.Observation) { o.Gates[0].Status.Conditions = nil }), 0, "", "not been checked", false, false},
		"a fork":                     {"anyone can push there", of(pending(func(p *report.Pending) { p.HeadRepository = "mallory/shop" })), 0, rejected, "fork", false, false},
		"perhaps a fork":             {"its repository is not known", of(pending(func(p *report.Pending) { p.HeadRepository = "" })), 0, rejected, "fork", false, false},
		"another commit":             {"the event was wrong", of(pending(func(p *report.Pending) { p.SHA = strings.Repeat("b", 40) })), 0, rejected, "another commit", false, false},
		"no commit":                  {"the code host does not say it", of(pending(func(p *report.Pending) { p.SHA = "" })), 0, rejected, "another commit", false, false},
		"another repository":         {"the event was wrong", of(pending(func(p *report.Pending) { p.Repository = "acme/docs" })), 0, rejected, "another repository", false, false},
		"another environment":        {"the event was wrong", of(pending(func(p *report.Pending) { p.Environment = "live" })), 0, rejected, "another environment", false, false},
		"the environment's spelling": {"GitHub ignores case", of(pending(func(p *report.Pending) { p.Environment = "Production" })), 0, approved, "passed", false, false},
		"a short SHA":                {"it may become that of another", of(func(o *gate.Observation) { o.Review.Spec.SHA, o.Pending.SHA = "a1a1a1a1", "a1a1a1a1" }), 0, rejected, "not known which commit", false, false},
		"no SHA on GitHub":           {"the event names several", of(noSHA, pending(func(p *report.Pending) {})), 0, rejected, "of another commit", false, false},
		"no SHA on GitLab":           {"the deployment says it", of(noSHA, onGitLab), 0, approved, "passed", false, false},
		"no SHA on GitLab, unasked":  {"the deployment says it", of(noSHA, onGitLab, unasked), 0, "", "", true, false},
		"stopped":                    {"nothing waits", of(pending(func(p *report.Pending) { p.Waiting = false })), time.Hour, "", "waits for no decision", false, true},
		"not listed yet":             {"its event was faster", of(pending(func(p *report.Pending) { p.Waiting = false })), time.Second, "", "not list", false, false},
		"after 30 days":              {"GitHub has given up", nil, 30 * 24 * time.Hour, "", "30 days", false, true},
		"a rejection is stored":      {"it never changes", of(stored(rejected)), 0, rejected, "As stored.", false, false},
		"an approval is stored":      {"it is still green", of(stored(approved)), 0, approved, "As stored.", false, false},
		"stored, and red since":      {"it was withdrawn", of(stored(approved), with(run("Failed", 0))), time.Minute, rejected, "was approved, but", false, false},
		"stored, and running since":  {"it may still pass", of(stored(approved), with(run("Running", 0))), time.Minute, "", "not ended", false, false},
		"stored, unasked":            {"it may have been delivered", of(stored(approved), unasked), time.Minute, "", "", true, false},
		"stored, and not pending":    {"it was delivered", of(stored(approved), pending(func(p *report.Pending) { p.Waiting = false })), time.Second, "", "waits for no decision", false, true},
		"two gates agree":            {"both say yes", of(another(func(*gate.Gate) {})), 0, approved, "passed", false, false},
		"one of two gates rejects":   {"both must agree", of(another(failed)), 0, rejected, "failed", false, false},
		"one of two gates waits":     {"both must agree", of(another(runningThere)), 0, "", "not ended", false, false},
		"one waits, one rejects":     {"nothing can change it", of(with(run("Running", 0)), another(failed)), 0, rejected, "failed", false, false},
		"nothing is required":        {"the schema forbids it", of(func(o *gate.Observation) { o.Gates[0].Requires = nil }), 0, rejected, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := gate.Next(observed(tc.given...), asked.Add(tc.after))
			says, decides := got.Waits+got.Ended, v1alpha1.ReviewState("")
			if got.Decision != nil {
				says, decides = got.Decision.Message, got.Decision.State
			}
			if decides != tc.decides || got.Ask != tc.asks || (got.Ended != "") != tc.ends || !strings.Contains(says, tc.says) {
				t.Errorf("%s: got %+v %q %q", tc.reason, got, decides, says)
			}
			if waits := decides == "" && !tc.asks && !tc.ends; waits != (got.After > 0) || got.After > time.Minute {
				t.Errorf("it looks again after %s", got.After)
			}
		})
	}
}

// others have a gate for the deployment, and name its repository; so does the own team.
func others(o *gate.Observation) {
	o.Host = "github.com"
	o.Claims = []gate.Claim{
		{Namespace: "rival", Team: &v1alpha1.Team{Spec: v1alpha1.TeamSpec{Repositories: []string{repository}}}},
		{Namespace: "acme", Team: &v1alpha1.Team{Spec: v1alpha1.TeamSpec{Repositories: []string{"acme/*"}}}},
	}
}

func ours(o *gate.Observation) { o.Claims[1].Team.Spec.Repositories = []string{repository} }

func of(all ...func(*gate.Observation)) []func(*gate.Observation) { return all }

// TestComment: it fits, links what decided, and mentions no one.
func TestComment(t *testing.T) {
	hostile := "@everyone [x](https://evil.example) <img src=x> #1 `code`"
	failing := run("Failed", -time.Minute)
	failing.Status.Results = &v1alpha1.TestResults{NewFailures: 9}
	for range 9 {
		failing.Status.Results.Failures = append(failing.Status.Results.Failures,
			v1alpha1.TestFailure{Name: hostile + strings.Repeat("é", 300), History: v1alpha1.FailureNew})
	}
	for name, tc := range map[string]struct {
		host  v1alpha1.HostingService
		limit int
		has   []string
	}{
		"on GitHub": {v1alpha1.GitHub, 1024, []string{"**Rejected** by Postflight", "To ask again, re-run the job.", "(<https://ci.example.com/runs/acme/smoke-1>)"}},
		"on GitLab": {v1alpha1.GitLab, 255, []string{"**Rejected** by Postflight", "To ask again, retry the job."}},
	} {
		t.Run(name, func(t *testing.T) {
			o := observed(with(failing), func(o *gate.Observation) { o.Review.Spec.HostingService = tc.host })
			if tc.host == v1alpha1.GitLab {
				o.Source.Spec.Type = v1alpha1.EventsOfGitLab
			}
			comment := gate.Next(o, asked).Decision.Comment
			if len(comment) > tc.limit {
				t.Errorf("it has %d bytes", len(comment))
			}
			for _, text := range tc.has {
				if !strings.Contains(comment, text) {
					t.Errorf("it lacks %q:\n%s", text, comment)
				}
			}
			if outside := outsideCode(comment); strings.ContainsAny(outside, "@#") || strings.Contains(outside, "evil") {
				t.Errorf("untrusted text is outside of code spans:\n%s", comment)
			}
		})
	}
	if comment := gate.Next(observed(), asked).Decision.Comment; !strings.Contains(comment, "smoke](<https://ci.example.com/runs/acme/smoke-1>): passed 1 hour ago") ||
		strings.Contains(comment, "ask again") {
		t.Errorf("an approval: %s", comment)
	}
}

// outsideCode drops code spans, each of which ends with as many backticks as it began with.
func outsideCode(markdown string) string {
	outside := ""
	for markdown != "" {
		before, rest, found := strings.Cut(markdown, "`")
		outside += before
		if !found {
			break
		}
		fence := "`"
		for strings.HasPrefix(rest, "`") {
			fence, rest = fence+"`", rest[1:]
		}
		_, markdown, _ = strings.Cut(rest, fence)
	}
	return outside
}
