package judge_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/judge"
	"github.com/postflight-dev/postflight/test/build"
)

var (
	noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

	commit, other = strings.Repeat("a", 40), strings.Repeat("b", 40)
)

// run is a run of the other commit, that a pipeline notified so long after noon.
func run(name string, received time.Duration, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	at := noon.Add(received)
	return build.With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(at)},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "live", Attempt: 1, ReceivedAt: new(metav1.NewMicroTime(at)),
			Deployment: v1alpha1.Deployment{SHA: other, Type: "production", Repository: "acme/shop", HostingService: v1alpha1.GitHub},
		},
	}, change...)
}

func deployedAt(after time.Duration) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Spec.Origin, s.Spec.DeployedAt = v1alpha1.OriginEvent, new(metav1.NewMicroTime(noon.Add(after)))
	}
}

func is(c metav1.Condition) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{c} }
}

func ofCommit(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = commit }

// TestProblem: the deployment was at noon.
func TestProblem(t *testing.T) {
	const page = "https://postflight.example.com/runs/acme/"
	passed := is(v1alpha1.Passed("Exit code 0."))
	post := func(log, text string) *event.Post {
		return &event.Post{Environment: "live", LogURL: log, Description: text}
	}
	text := report.DeploymentDescription(run("own", 0, ofCommit, passed))
	cases := map[string]struct {
		reason string
		run    *v1alpha1.Suite
		post   *event.Post
		after  time.Duration // it is judged
		at     time.Time     // zero: noon
		says   string        // empty: there is no problem
	}{
		"at once":                               {reason: "as usual"},
		"after an hour":                         {reason: "a delivery that failed", after: time.Hour},
		"after more":                            {reason: "something else may be deployed", after: time.Hour + time.Second, says: "more than an hour old (2026-11-20T12:00:00Z)"},
		"from the future":                       {reason: "clocks differ", after: -time.Minute},
		"without a time":                        {reason: "the sender does not say", after: 2 * time.Hour, at: time.Unix(0, 0)},
		"before it":                             {reason: "the run is older", run: run("other", -time.Minute)},
		"just after it":                         {reason: "pipelines notify a bit late, so it may be older", run: run("other", time.Minute)},
		"long after it":                         {reason: "the other commit is newer", run: run("other", 61*time.Second), says: "bbbbbbbbbbbb was deployed later than aaaaaaaaaaaa, and its run is other"},
		"long after it, without its repository": {reason: "it may be the same", run: run("other", 20*time.Minute, func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository = "" }), says: "its run is other", after: 30 * time.Minute},
		"received after it":                     {reason: "the event of the run says that it is older", run: run("other", 30*time.Minute, deployedAt(-time.Second)), after: 31 * time.Minute},
		"deployed after it":                     {reason: "the event of the run says that it is newer", run: run("other", 2*time.Second, deployedAt(time.Second)), says: "its run is other"},
		"notified again after it": {reason: "the other commit was rolled back to", says: "its run is other", run: run("other", -time.Hour, deployedAt(-time.Hour), func(s *v1alpha1.Suite) {
			s.Status.NotifiedAgainAt = new(metav1.NewMicroTime(noon.Add(2 * time.Minute)))
		})},
		"the same commit after it": {reason: "it is a duplicate", run: run("own", 5*time.Minute, ofCommit)},
		"another type":             {reason: "another place", run: run("other", 5*time.Minute, func(s *v1alpha1.Suite) { s.Spec.Deployment.Type = "staging" })},
		"another repository":       {reason: "both are deployed", run: run("other", 5*time.Minute, func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository = "acme/docs" })},
		"another host":             {reason: "names are of a host", run: run("other", 5*time.Minute, func(s *v1alpha1.Suite) { s.Spec.Deployment.HostingService = v1alpha1.GitLab })},
		"in other letters":         {reason: "GitHub ignores them", run: run("other", 5*time.Minute, func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository = "Acme/Shop" }), says: "its run is other"},
		"by a schedule": {reason: "it is no deployment", run: run("other", 5*time.Minute, func(s *v1alpha1.Suite) {
			s.Annotations = map[string]string{v1alpha1.AnnotationScheduledFor: noon.Format(time.RFC3339)}
		})},
		"the page of a run that passed":    {reason: "our own post", run: run("own", 0, ofCommit, passed), post: post(page+"own", ""), says: "itself, for the run own"},
		"the text of a run that passed":    {reason: "our own post", run: run("own", 0, ofCommit, passed), post: post("", text), says: "itself, for the run own"},
		"the page of a run that continues": {reason: "its end is posted before the cache has it", run: run("own", 0, ofCommit), post: post(page+"own", ""), says: "itself"},
		"the page of a run that failed":    {reason: "no success of it is posted", run: run("own", 0, ofCommit, is(v1alpha1.Failed("Exit code 1."))), post: post(page+"own", "")},
		"the page of another run":          {reason: "it is not of this commit", run: run("other", 0, passed), post: post(page+"other", "")},
		"a page elsewhere":                 {reason: "it is not ours", run: run("own", 0, ofCommit, passed), post: post("https://evil.example.com/runs/acme/own", "")},
		"another text":                     {reason: "somebody else has passed tests", run: run("own", 0, ofCommit, passed), post: post("", text+"!")},
		"no text":                          {reason: "nothing points to a run", run: run("own", 0, ofCommit, passed), post: post("", "")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := event.Event{At: noon, Post: tc.post, Notification: &notification.Notification{
				SHA: commit, DeploymentType: "production", Repository: "acme/shop", HostingService: v1alpha1.GitHub,
			}}
			if !tc.at.IsZero() {
				e.At = time.Time{}
			}
			var runs []*v1alpha1.Suite
			if tc.run != nil {
				runs = append(runs, tc.run)
			}
			got := judge.Problem(e, runs, report.Options{PublicURL: "https://postflight.example.com"}, noon.Add(tc.after))
			if (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.says)
			}
		})
	}
}

// TestRepeats: the button of one check is that of its run, and the button of all that of the newest attempts before it.
func TestRepeats(t *testing.T) {
	reported := func(s *v1alpha1.Suite) {
		s.Spec.Deployment.SHA = commit
		s.Status.Report = &v1alpha1.SuiteReport{HostingService: v1alpha1.GitHub, Repository: "acme/shop", CheckID: 1}
	}
	attempt := func(n int32) func(*v1alpha1.Suite) { return func(s *v1alpha1.Suite) { s.Spec.Attempt = n } }
	of := func(trigger, environment string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Spec.Trigger.Name, s.Spec.Environment = trigger, environment }
	}
	runs := []*v1alpha1.Suite{
		run("smoke-1", -time.Hour, reported), run("smoke-2", -time.Minute, reported, attempt(2)), run("smoke-3", time.Minute, reported, attempt(3)),
		run("e2e-1", -time.Hour, reported, of("e2e", "live")), run("smoke-staging", -time.Hour, reported, of("smoke", "staging")),
		run("smoke-cart", -time.Hour, reported, func(s *v1alpha1.Suite) { s.Spec.Deployment.Service = "cart" }),
		run("unreported", -time.Hour, ofCommit, of("unreported", "live")),
		run("status", -time.Hour, reported, of("status", "live"), func(s *v1alpha1.Suite) { s.Status.Report.CheckID = 0 }),
		run("gitlab", -time.Hour, reported, of("gitlab", "live"), func(s *v1alpha1.Suite) { s.Status.Report.HostingService = v1alpha1.GitLab }),
		run("elsewhere", -time.Hour, reported, of("elsewhere", "live"), func(s *v1alpha1.Suite) { s.Status.Report.Repository = "acme/docs" }),
		run("other", -time.Hour, reported, of("other", "live"), func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = other }),
	}
	cases := map[string]struct {
		of   []string
		want []string
	}{
		"one check":                          {[]string{"uid-smoke-1"}, []string{"smoke-1"}},
		"the check of an attempt":            {[]string{"uid-smoke-3"}, []string{"smoke-3"}},
		"all checks":                         {nil, []string{"e2e-1", "smoke-2", "smoke-cart", "smoke-staging"}},
		"a run without a check":              {[]string{"uid-unreported"}, nil},
		"a run with a commit status":         {[]string{"uid-status"}, nil},
		"a run that was reported elsewhere":  {[]string{"uid-elsewhere"}, nil},
		"a run of another commit":            {[]string{"uid-other"}, nil},
		"a run of nobody, or another tenant": {[]string{"uid-none"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := event.Event{At: noon, Rerun: &event.Rerun{Runs: tc.of, Repository: "Acme/shop", Commit: strings.ToUpper(commit)}}
			var got []string
			for _, s := range judge.Reruns(e, runs) {
				got = append(got, s.Name)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
