package report_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
)

func TestNext(t *testing.T) {
	condition := func(c metav1.Condition) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { meta.SetStatusCondition(&s.Status.Conditions, c) }
	}
	collects := aTrigger(func(t *v1alpha1.Trigger) { t.Spec.Results = &v1alpha1.Results{} })
	elsewhere := aTrigger(func(t *v1alpha1.Trigger) { t.Spec.Repository.Name = "acme/other" })
	spelled := aTrigger(func(t *v1alpha1.Trigger) { t.Spec.Repository.Name = "Acme/Shop" })
	none := aTrigger(func(t *v1alpha1.Trigger) { t.Spec.Repository = nil })
	passed := v1alpha1.Passed("ok")
	cases := map[string]struct {
		suite   *v1alpha1.Suite
		trigger *v1alpha1.Trigger
		newer   string
		now     time.Duration // after noon
		post    bool
		after   time.Duration
		reason  string // of the condition
	}{
		"a new run may start at once":                    {suite: aSuite(), now: time.Second, after: 9 * time.Second},
		"a run that waits is queued":                     {suite: aSuite(in(v1alpha1.Queued(""))), now: 10 * time.Second, post: true},
		"queued is posted once":                          {suite: aSuite(in(v1alpha1.Queued("")), posted(v1alpha1.ReportQueued)), now: time.Minute},
		"a run that started is in progress":              {suite: aSuite(in(v1alpha1.Starting(""))), now: time.Second, post: true},
		"in progress follows queued":                     {suite: aSuite(in(v1alpha1.Running("")), posted(v1alpha1.ReportQueued)), post: true},
		"in progress is posted once":                     {suite: aSuite(in(v1alpha1.Running("")), posted(v1alpha1.ReportInProgress))},
		"the end is posted":                              {suite: aSuite(in(passed), posted(v1alpha1.ReportInProgress)), now: 2 * time.Minute, post: true},
		"the end is posted if nothing else was":          {suite: aSuite(in(passed)), now: 2 * time.Minute, post: true},
		"the end is posted once":                         {suite: aSuite(in(passed), posted(v1alpha1.ReportCompleted)), now: 2 * time.Minute},
		"nothing follows the end":                        {suite: aSuite(in(v1alpha1.Running("")), posted(v1alpha1.ReportCompleted)), now: 2 * time.Minute},
		"nothing follows what is reported":               {suite: aSuite(in(passed), condition(v1alpha1.Reported(""))), now: 2 * time.Minute},
		"a failed report is tried again":                 {suite: aSuite(in(passed), condition(v1alpha1.NotReported(v1alpha1.ReasonReportFailed, ""))), now: 2 * time.Minute, post: true},
		"another repository of the Trigger starts anew":  {suite: aSuite(in(v1alpha1.Running("")), posted(v1alpha1.ReportInProgress)), trigger: elsewhere, post: true},
		"another spelling of it is the same one":         {suite: aSuite(in(v1alpha1.Running("")), posted(v1alpha1.ReportInProgress)), trigger: spelled},
		"the end does not wait for results":              {suite: aSuite(in(passed)), trigger: collects, now: 2 * time.Minute, post: true},
		"after a day it is too late":                     {suite: aSuite(in(passed)), now: 25 * time.Hour},
		"a newer attempt reports":                        {suite: aSuite(in(v1alpha1.Canceled(""))), newer: "smoke-2", now: 2 * time.Minute, reason: v1alpha1.ReasonNewerAttempt},
		"a newer attempt reports, while this one runs":   {suite: aSuite(in(v1alpha1.Running(""))), newer: "smoke-2", now: 2 * time.Minute},
		"a check run of its own is completed":            {suite: aSuite(in(v1alpha1.Canceled("")), posted(v1alpha1.ReportInProgress)), newer: "smoke-2", now: 2 * time.Minute, post: true},
		"nothing follows a newer attempt":                {suite: aSuite(in(v1alpha1.Canceled("")), condition(v1alpha1.NotReported(v1alpha1.ReasonNewerAttempt, ""))), now: 2 * time.Minute},
		"without a repository, there is nothing to say":  {suite: aSuite(in(passed)), trigger: none, now: 2 * time.Minute},
		"without a repository any more, the end says so": {suite: aSuite(in(passed), posted(v1alpha1.ReportInProgress)), trigger: none, now: 2 * time.Minute, reason: v1alpha1.ReasonNotConfigured},
		"without a repository, a run says nothing":       {suite: aSuite(in(v1alpha1.Running(""))), trigger: none},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.trigger == nil {
				tc.trigger = aTrigger()
			}
			step := report.Next(report.Observation{Suite: tc.suite, Trigger: tc.trigger, NewerAttempt: tc.newer}, after(tc.now))
			reason := ""
			if step.Condition != nil {
				reason = step.Condition.Reason
			}
			if step.Post != tc.post || step.After != tc.after || reason != tc.reason {
				t.Errorf("got post %t, after %s, condition %q; want %t, %s, %q", step.Post, step.After, reason, tc.post, tc.after, tc.reason)
			}
		})
	}
}

// TestAtMostThreeWrites plays every course of a run, one state after the other.
func TestAtMostThreeWrites(t *testing.T) {
	for _, end := range []metav1.Condition{v1alpha1.Passed(""), v1alpha1.Failed(""), v1alpha1.TimedOut(""), v1alpha1.Canceled(""), v1alpha1.Superseded(""), v1alpha1.Error("")} {
		s, writes := aSuite(), 0
		now := time.Minute
		for _, c := range []metav1.Condition{v1alpha1.Queued("1 ahead"), v1alpha1.Queued("next"), v1alpha1.Starting("image"), v1alpha1.Starting("node"), v1alpha1.Running(""), v1alpha1.Running("stopping"), end, end} {
			in(c)(s)
			if step := report.Next(report.Observation{Suite: s, Trigger: aTrigger()}, after(now)); step.Post {
				writes++
				posted(report.PhaseOf(s))(s)
			}
		}
		if writes != 3 || s.Status.Report.Phase != v1alpha1.ReportCompleted {
			t.Errorf("%s: %d writes, and the last is %s", end.Reason, writes, s.Status.Report.Phase)
		}
	}
}

func TestTargetOf(t *testing.T) {
	gitLab := func(name string) *v1alpha1.Trigger {
		return aTrigger(func(t *v1alpha1.Trigger) {
			t.Spec.Repository = &v1alpha1.Repository{HostingService: v1alpha1.GitLab, Name: name}
		})
	}
	gitHub := func(name string) *v1alpha1.Trigger {
		return aTrigger(func(t *v1alpha1.Trigger) { t.Spec.Repository.Name = name })
	}
	of := func(sha, repository string) *v1alpha1.Suite {
		return aSuite(func(s *v1alpha1.Suite) {
			s.Spec.Deployment = v1alpha1.Deployment{SHA: sha, Repository: repository, Branch: "refs/heads/release/1"}
		})
	}
	cases := map[string]struct {
		suite   *v1alpha1.Suite
		trigger *v1alpha1.Trigger
		want    string // the repository, or the reason
	}{
		"a repository on GitHub":                   {of(sha, ""), gitHub("acme/shop"), "acme/shop"},
		"the notification's is the Trigger's":      {of(sha, "Acme/Shop"), gitHub("acme/shop"), "acme/shop"},
		"in letters that are not ASCII":            {of(sha, "acme/tan\u212a"), gitHub("acme/tank"), v1alpha1.ReasonOtherRepository},
		"the notification's is another":            {of(sha, "acme/other"), gitHub("acme/shop"), v1alpha1.ReasonOtherRepository},
		"the notification's leads elsewhere":       {of(sha, "../../evil"), gitHub("acme/shop"), v1alpha1.ReasonOtherRepository},
		"a project on GitLab":                      {of(sha, ""), gitLab("group/sub/project"), "group/sub/project"},
		"a subgroup on GitHub":                     {of(sha, ""), gitHub("group/sub/project"), v1alpha1.ReasonNotConfigured},
		"a dot segment":                            {of(sha, ""), gitHub("../shop"), v1alpha1.ReasonNotConfigured},
		"a dot segment in a group":                 {of(sha, ""), gitLab("group/./project"), v1alpha1.ReasonNotConfigured},
		"an empty segment":                         {of(sha, ""), gitLab("group//project"), v1alpha1.ReasonNotConfigured},
		"no owner":                                 {of(sha, ""), gitHub("shop"), v1alpha1.ReasonNotConfigured},
		"white space":                              {of(sha, ""), gitHub("acme/the shop"), v1alpha1.ReasonNotConfigured},
		"a control character":                      {of(sha, ""), gitHub("acme/shop\x00"), v1alpha1.ReasonNotConfigured},
		"an escaped slash":                         {of(sha, ""), gitHub("acme/..%2f..%2fother%2fshop"), v1alpha1.ReasonNotConfigured},
		"a query":                                  {of(sha, ""), gitLab("acme/shop?a=b"), v1alpha1.ReasonNotConfigured},
		"a letter that folds to a k":               {of(sha, ""), gitHub("acme/tan\u212a"), v1alpha1.ReasonNotConfigured},
		"a short SHA":                              {of("5ca1ab1e", ""), gitHub("acme/shop"), v1alpha1.ReasonNoCommit},
		"no SHA":                                   {of("", ""), gitHub("acme/shop"), v1alpha1.ReasonNoCommit},
		"a digest":                                 {of("sha256:"+strings.Repeat("a", 64), ""), gitHub("acme/shop"), v1alpha1.ReasonNoCommit},
		"a SHA of a repository with SHA-256":       {of(strings.Repeat("a", 64), ""), gitHub("acme/shop"), "acme/shop"},
		"no repository":                            {of(sha, "acme/shop"), aTrigger(func(t *v1alpha1.Trigger) { t.Spec.Repository = nil }), v1alpha1.ReasonNotConfigured},
		"no Trigger":                               {of(sha, "acme/shop"), nil, v1alpha1.ReasonNotConfigured},
		"another Trigger of the name":              {aSuite(func(s *v1alpha1.Suite) { s.Spec.Trigger.UID = "a" }), aTrigger(func(t *v1alpha1.Trigger) { t.UID = "b" }), v1alpha1.ReasonNotConfigured},
		"a Trigger that was stored without a host": {of(sha, ""), aTrigger(func(t *v1alpha1.Trigger) { t.Spec.Repository.HostingService = "" }), "acme/shop"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			target, problem := report.TargetOf(tc.suite, tc.trigger)
			got := target.Repository
			if problem != nil {
				got = problem.Reason
				if problem.Message == "" || problem.Status != metav1.ConditionFalse || target != (report.Target{}) {
					t.Errorf("got %+v and %+v", problem, target)
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	later := gitHub("acme/shop")
	later.Spec.Repository.HostingService = "Gitea" // a token for it must not go to GitHub
	if target, _ := report.TargetOf(of(sha, ""), later); target.Host != "Gitea" || report.Allowed(target, "", []string{"acme/shop"}) {
		t.Errorf("a code host of a later version: got %+v", target)
	}
	if target, _ := report.TargetOf(of(sha, ""), gitHub("acme/shop")); target.Branch != "release/1" || target.Host != v1alpha1.GitHub {
		t.Errorf("got %+v", target)
	}
}

func TestRetryAfter(t *testing.T) {
	failedAt := func(at time.Time) *v1alpha1.Suite {
		c := v1alpha1.NotReported(v1alpha1.ReasonReportFailed, "")
		c.LastTransitionTime = metav1.NewTime(at)
		return aSuite(func(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{c} })
	}
	for _, p := range []report.Purpose{report.Checks, report.Deployments, report.Comments} {
		retries := 0
		for now := noon; now.Before(noon.Add(24 * time.Hour)); now = now.Add(report.RetryAfter(p, failedAt(noon), report.Rejected, now)) {
			retries++
		}
		if retries < 10 || retries > 40 {
			t.Errorf("a %s that is rejected for a day is sent %d times", p, retries)
		}
		for _, kind := range []report.Kind{report.Conflict, report.Unavailable} {
			if got := report.RetryAfter(p, failedAt(noon), kind, noon); got != 2*time.Second {
				t.Errorf("%s of a %s is retried after %s", kind, p, got)
			}
		}
	}
	if got := report.RetryAfter(report.Checks, aSuite(), report.Rejected, after(time.Hour)); got != 2*time.Minute {
		t.Errorf("the first retry is after %s", got)
	}
}
