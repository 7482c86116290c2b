package report_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
)

// asking is a Trigger that asks for everything.
func asking(change ...func(*v1alpha1.Trigger)) *v1alpha1.Trigger {
	return aTrigger(append([]func(*v1alpha1.Trigger){func(t *v1alpha1.Trigger) {
		t.Spec.Repository.Deployments, t.Spec.Repository.PullRequestComments = true, true
	}}, change...)...)
}

// shown beside the check, both in the same phase.
func shown(phase v1alpha1.ReportPhase) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Report = &v1alpha1.SuiteReport{
			HostingService: v1alpha1.GitHub, Repository: "acme/shop",
			Deployment: &v1alpha1.DeploymentReport{ID: 3, Phase: phase}, PullRequest: &v1alpha1.PullRequestReport{Number: 5, CommentID: 4, Phase: phase},
		}
	}
}

func TestNextBeside(t *testing.T) {
	passed := v1alpha1.Passed("ok")
	cases := map[string]struct {
		suite   *v1alpha1.Suite
		trigger *v1alpha1.Trigger
		newer   string
		now     time.Duration // after noon
		post    bool
		after   time.Duration
	}{
		"a run that waits changes nothing":         {suite: aSuite(in(v1alpha1.Queued(""))), now: time.Minute},
		"a run that started is shown":              {suite: aSuite(in(v1alpha1.Starting(""))), post: true},
		"a run that goes on is shown once":         {suite: aSuite(in(v1alpha1.Running("")), shown(v1alpha1.ReportInProgress))},
		"the end is shown":                         {suite: aSuite(in(passed), shown(v1alpha1.ReportInProgress)), now: 2 * time.Minute, post: true},
		"the end is shown if nothing else was":     {suite: aSuite(in(passed)), now: 2 * time.Minute, post: true},
		"the end is shown once":                    {suite: aSuite(in(passed), shown(v1alpha1.ReportCompleted)), now: 2 * time.Minute},
		"the end is shown after that of the check": {suite: aSuite(in(passed), in(v1alpha1.Reported(""))), now: 2 * time.Minute, post: true},
		"what the check shows does not count":      {suite: aSuite(in(passed), posted(v1alpha1.ReportCompleted)), now: 2 * time.Minute, post: true},
		"a newer attempt is shown instead":         {suite: aSuite(in(passed), shown(v1alpha1.ReportInProgress)), newer: "smoke-2", now: 2 * time.Minute},
		"after a day it is too late":               {suite: aSuite(in(passed)), now: 25 * time.Hour},
		"another repository starts anew": {
			suite:   aSuite(in(v1alpha1.Running("")), shown(v1alpha1.ReportInProgress)),
			trigger: asking(func(t *v1alpha1.Trigger) { t.Spec.Repository.Name = "acme/other" }), post: true,
		},
		"another spelling of the repository is the same": {
			suite:   aSuite(in(v1alpha1.Running("")), shown(v1alpha1.ReportInProgress)),
			trigger: asking(func(t *v1alpha1.Trigger) { t.Spec.Repository.Name = "Acme/Shop" }),
		},
		"without a full SHA there is nothing to show": {suite: aSuite(in(passed), func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "v1" }), now: 2 * time.Minute},
		"nothing is shown unless the Trigger asks":    {suite: aSuite(in(passed)), trigger: aTrigger(), now: 2 * time.Minute},
		"nothing is shown without a repository":       {suite: aSuite(in(passed)), trigger: aTrigger(func(t *v1alpha1.Trigger) { t.Spec.Repository = nil }), now: 2 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.trigger == nil {
				tc.trigger = asking()
			}
			o := report.Observation{Suite: tc.suite, Trigger: tc.trigger, NewerAttempt: tc.newer}
			for what, step := range map[string]report.Step{
				"deployment": report.NextDeployment(o, after(tc.now)), "comment": report.NextComment(o, after(tc.now)),
			} {
				if step.Post != tc.post || step.After != tc.after || step.Condition != nil {
					t.Errorf("%s: got post %t after %s; want %t, %s", what, step.Post, step.After, tc.post, tc.after)
				}
			}
		})
	}
	if report.ShowsMore(nil) || report.ShowsMore(aTrigger()) || !report.ShowsMore(asking()) {
		t.Error("the Trigger alone decides whether more than checks is shown")
	}
}

// TestDeploymentsAreLeftOutFirst: a deployment never takes the place of a comment, nor a comment that of an outcome.
func TestDeploymentsAreLeftOutFirst(t *testing.T) {
	running, ended := aSuite(in(v1alpha1.Running(""))), aSuite(in(v1alpha1.Passed("")))
	shares := []int{
		report.Share(report.Deployments, running), report.Share(report.Deployments, ended),
		report.Share(report.Checks, aSuite(in(v1alpha1.Queued("")))),
		report.Share(report.Comments, running),
		report.Share(report.Checks, running),
		report.Share(report.Comments, ended),
		report.Share(report.Checks, ended),
	}
	if diff := cmp.Diff([]int{15, 20, 25, 30, 50, 60, 100}, shares); diff != "" {
		t.Errorf("the shares of the budget (-want +got):\n%s", diff)
	}
}

func TestReturn(t *testing.T) {
	b := gitHubBudget()
	for i := range 1000 {
		if wait := b.Take(15, noon); wait != 0 {
			t.Fatalf("a look-up that wrote nothing used up the budget: %d wait for %s", i, wait)
		}
		b.Return()
	}
	b.Take(100, noon)
	b.Done(&report.Error{Kind: report.Unavailable}, noon)
	later := after(time.Hour)
	b.Take(100, later)
	b.Return()
	if b.Take(100, later) != 0 || b.Take(100, later) == 0 {
		t.Error("a write that did not reach a host shows that it is available")
	}
}

// named is a Suite of a Trigger, and the order in which it was received.
func named(name, trigger string, second int, change ...func(*v1alpha1.Suite)) report.Run {
	received := metav1.NewMicroTime(after(time.Duration(second) * time.Second))
	s := aSuite(change...)
	s.Name, s.Spec.Trigger.Name, s.Spec.ReceivedAt = name, trigger, &received
	return report.Run{Suite: s, Trigger: asking(func(t *v1alpha1.Trigger) { t.Name = s.Spec.Trigger.Name })}
}
