package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestNotAllowedBeside: a deployment that is refused holds up neither the check nor the comment, and the Suite says why.
func TestNotAllowedBeside(t *testing.T) {
	t.Parallel()
	w := besideWorld(t)
	w.gitHub.Open(codehost.PullRequest{Number: 5})
	w.gitHub.Refuse("/deployments", true)
	w.Start(build.Suite("one", 0, build.OfTrigger("tok"), tests(build.Commit(1)), func(s *v1alpha1.Suite) { s.Spec.Deployment.PullRequestNumber = 5 }))
	w.Passes("one")
	w.reports("one", v1alpha1.ReasonPosted, "")
	s := build.Suite("one", 0)
	w.Await("the Suite says why there is no deployment", s, func() bool {
		r := s.Status.Report
		return r.PullRequest != nil && r.PullRequest.Phase == v1alpha1.ReportCompleted && r.Deployment != nil &&
			strings.Contains(r.Deployment.Problem, "the token needs the permission to read and write deployments there.")
	})
	w.gitHub.Refuse("/deployments", false)
	w.changes("tok")
	if r := w.complete("one", 5).Status.Report.Deployment; r.Problem != "" {
		t.Errorf("the problem is still %q", r.Problem)
	}
	w.deployed(w.gitHub, build.Commit(1), "success")
}

// TestBesideAfterAnotherLeader: a leader that follows another one, and lost what the Suites knew, writes nothing twice.
func TestBesideAfterAnotherLeader(t *testing.T) {
	t.Parallel()
	w := besideWorld(t)
	w.gitHub.Open(codehost.PullRequest{Number: 5})
	in5 := func(s *v1alpha1.Suite) { s.Spec.Deployment.PullRequestNumber = 5 }
	w.Start(build.Suite("one", 0, build.OfTrigger("app"), tests(build.Commit(1)), in5))
	w.deployed(w.gitHub, build.Commit(1), "in_progress")
	w.comments(w.gitHub, 5, "app: The tests are running")
	w.Stop()
	s := w.Suite("one")
	w.Status(s, func() { s.Status.Report.Deployment, s.Status.Report.PullRequest = nil, nil }) // the last write of the manager may come late
	w.StartManager()
	w.Await("the Suite knows it again", s, func() bool {
		r := s.Status.Report
		return r.Deployment != nil && r.Deployment.Phase != "" && r.PullRequest != nil && r.PullRequest.CommentID != 0
	})
	if deployments, comments := len(w.gitHub.DeploymentWrites()), len(w.gitHub.CommentWrites()); deployments != 2 || comments != 1 {
		t.Errorf("%d writes about the deployment and %d about the comment, want 2 and 1", deployments, comments)
	}
}

// TestLeftOutFirst: when the budget is short, outcomes are still posted as checks.
func TestLeftOutFirst(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t, limitedTo(10))
	w.Create(build.Trigger("app", reportsTo(v1alpha1.GitHub, "acme/shop", gitHubSecret), asking))
	for i := range 4 {
		name := fmt.Sprint("run-", i)
		w.Start(build.Suite(name, i, build.OfTrigger("app"), tests(build.Commit(i+1))))
		w.Passes(name)
		w.reports(name, v1alpha1.ReasonPosted, "")
	}
	if writes := w.gitHub.DeploymentWrites(); len(writes) > 0 {
		t.Errorf("writes about deployments used up the budget: %+v", writes)
	}
}

// TestTwoLeadersShare: two leaders at the same time, one of which should have stopped, leave one comment with the newest
// row of each Trigger.
func TestTwoLeadersShare(t *testing.T) {
	t.Parallel()
	w := besideWorld(t)
	first := w.Stop
	w.StartManager()
	t.Cleanup(first)
	w.gitHub.Open(codehost.PullRequest{Number: 5, Branch: "main", SHA: build.Commit(1)})
	var names []string
	for i := range 4 {
		name := fmt.Sprint("t", i)
		names = append(names, name)
		w.Create(build.Trigger(name, reportsTo(v1alpha1.GitHub, "acme/shop", gitHubSecret), func(t *v1alpha1.Trigger) {
			t.Spec.Repository.PullRequestComments = true
		}))
		w.Create(build.Suite(name, i, build.OfTrigger(name), tests(build.Commit(1))))
	}
	for _, name := range names {
		w.Runs(name)
	}
	for _, name := range names {
		w.Passes(name)
	}
	w.Eventually("the only comment shows that all have passed", func() string {
		all := w.gitHub.Comments(5)
		if len(all) != 1 || strings.Count(all[0], "| Passed") != len(names) {
			return fmt.Sprintf("%q", all)
		}
		return ""
	})
}

// TestCredentialsInAnOutage: while a host asks to be left alone, runs that wait for it do not read the Secret, neither for
// checks nor for what is beside them.
func TestCredentialsInAnOutage(t *testing.T) {
	t.Parallel()
	const runs = 5
	w := besideWorld(t)
	w.gitHub.Fail(&codehost.Fault{Status: 403, Header: map[string]string{"Retry-After": "30"}})
	w.Start(build.Suite("first", 0, build.OfTrigger("tok"), tests(build.Commit(0))))
	w.reports("first", v1alpha1.ReasonReportFailed, "")
	w.Clock.Stop() // the outage ends with the test
	before := w.Wire.Count("GET secrets")
	for i := range runs {
		w.Create(build.Suite(fmt.Sprint("run-", i), i+1, build.OfTrigger("tok"), tests(fmt.Sprintf("%040x", i+1))))
	}
	for i := range runs {
		w.Runs(fmt.Sprint("run-", i))
		w.Reaches(fmt.Sprint("run-", i), v1alpha1.ReasonRunning, "")
	}
	if reads := w.Wire.Count("GET secrets") - before; reads >= runs {
		t.Errorf("%d runs read the Secret %d times", runs, reads)
	}
}

// TestFaultsBeside: whatever a host answers, runs go on, and there is one deployment and one comment, with the last state,
// once the host has recovered.
func TestFaultsBeside(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]codehost.Fault{
		"fails":            {Status: 500},
		"asks to wait":     {Status: 403, Header: map[string]string{"Retry-After": "2"}},
		"loses its answer": {Status: 502, Handled: true},
		"hangs":            {},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "loses its answer" { // the others cannot cause a second deployment or comment
				tier.All(t, "one fault shows that a host which recovers gets the last state")
			}
			t.Parallel()
			w := besideWorld(t)
			for _, host := range []*codehost.Host{w.gitHub, w.gitLab} {
				host.Open(codehost.PullRequest{Number: 5, Branch: "main", SHA: build.Commit(1)})
				host.Fail(&fault)
			}
			w.Create(build.Suite("hub", 0, build.OfTrigger("tok"), tests(build.Commit(1))), build.Suite("lab", 1, build.OfTrigger("pro"), tests(build.Commit(1))))
			w.Runs("hub")
			w.Runs("lab")
			w.Passes("hub")
			w.Passes("lab")
			w.Reaches("hub", v1alpha1.ReasonPassed, "")
			w.Reaches("lab", v1alpha1.ReasonPassed, "")
			w.areAsked(w.gitHub, w.gitLab)
			w.gitHub.Fail(nil)
			w.gitLab.Fail(nil)
			for name, host := range map[string]*codehost.Host{"hub": w.gitHub, "lab": w.gitLab} {
				w.complete(name, 5)
				all := host.Deployments("staging", build.Commit(1))
				if len(all) != 1 || all[0][len(all[0])-1] != "success" {
					t.Errorf("%s: the deployments are %q", name, all)
				}
				if comments := host.Comments(5); len(comments) != 1 || !strings.Contains(comments[0], "Passed") {
					t.Errorf("%s: the comments are %q", name, comments)
				}
			}
		})
	}
}

// TestSecretsWhileAHostHangs: runs that wait for a host to show their deployments and comments do not read its
// credentials all the time.
func TestSecretsWhileAHostHangs(t *testing.T) {
	tier.All(t, "it counts requests for ten seconds")
	t.Parallel()
	w := besideWorld(t)
	w.gitHub.Fail(&codehost.Fault{})
	const runs = 20
	for i := range runs {
		w.Create(build.Suite(fmt.Sprint("run-", i), i, build.OfTrigger("app"), tests(fmt.Sprintf("%040x", i+1))))
	}
	for i := range runs {
		w.HasJob(fmt.Sprint("run-", i))
	}
	w.areAsked(w.gitHub)
	time.Sleep(10 * time.Second)
	got := w.Wire.Count("GET secrets")
	fmt.Printf("REPORT hanging_runs=%d get_secrets_per_run=%.2f\n", runs, float64(got)/runs)
	if got > 6*runs {
		t.Errorf("the manager read Secrets %d times for %d runs", got, runs)
	}
}
