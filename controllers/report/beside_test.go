package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/tier"
)

// besideWorld has Triggers that ask for deployments and comments: "app", "more" and "tok" on GitHub, "pro" on GitLab.
// TestLeftOutFirst is about the limits, which are lifted here.
func besideWorld(t *testing.T) *reportWorld {
	t.Helper()
	w := newReportWorld(t, limitedTo(1<<20))
	w.Create(
		build.Trigger("app", reportsTo(v1alpha1.GitHub, "acme/shop", gitHubSecret), asking),
		build.Trigger("more", reportsTo(v1alpha1.GitHub, "acme/shop", gitHubSecret), asking),
		build.Trigger("tok", reportsTo(v1alpha1.GitHub, "acme/shop", "github-token"), asking),
		build.Trigger("pro", reportsTo(v1alpha1.GitLab, "group/sub/project", gitLabSecret), asking),
	)
	return w
}

// limitedTo sets how much a credential may write to GitHub in a minute and in an hour.
func limitedTo(writes int) func(*reportWorld) {
	return func(w *reportWorld) {
		host := w.CodeHosts.Hosts[v1alpha1.GitHub]
		host.Limits.PerMinute, host.Limits.PerHour = writes, writes
		w.CodeHosts.Hosts[v1alpha1.GitHub] = host
	}
}

func asking(t *v1alpha1.Trigger) {
	t.Spec.Repository.Deployments, t.Spec.Repository.PullRequestComments = true, true
}

func deployedTo(url string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.URL = url }
}

// deployed waits until a host shows the deployments of a commit with these states, and no others.
func (w *reportWorld) deployed(host *codehost.Host, sha string, states ...string) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("the deployment shows %q", states), func() string {
		return cmp.Diff([][]string{states}, host.Deployments("staging", sha))
	})
}

// comments waits until there is one comment about a pull request, with these rows.
func (w *reportWorld) comments(host *codehost.Host, number int64, rows ...string) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("the comment about %d has %q", number, rows), func() string {
		comments := host.Comments(number)
		if len(comments) != 1 {
			return fmt.Sprintf("there are %d: %q", len(comments), comments)
		}
		var got []string
		for _, line := range strings.Split(comments[0], "\n") {
			if cells := strings.Split(line, " | "); len(cells) == 4 && strings.HasPrefix(line, "| [") {
				name, _, _ := strings.Cut(strings.TrimPrefix(cells[0], "| ["), "]")
				got = append(got, name+": "+strings.TrimSuffix(cells[3], " |"))
			}
		}
		return cmp.Diff(rows, got)
	})
}

// TestBesideChecks plays the courses of a run with each kind of credentials, or in the gate each course with one of them. The
// hosts get what is listed, and nothing else.
func TestBesideChecks(t *testing.T) {
	t.Parallel()
	w := besideWorld(t)
	hosts := map[string]*codehost.Host{"app": w.gitHub, "tok": w.gitHub, "pro": w.gitLab}
	running := map[string]string{"app": "in_progress", "tok": "in_progress", "pro": "running"}
	number, want := int64(0), map[*codehost.Host]int{}
	for i, tc := range []struct {
		course string
		play   func(name string)
		states map[string]string // of the deployment at the end
		row    string
	}{
		{"pass", w.Passes, map[string]string{"app": "success", "tok": "success", "pro": "success"}, "Passed"},
		{"fail", func(name string) { w.Exits(name, 1) }, map[string]string{"app": "failure", "tok": "failure", "pro": "failed"}, "Failed"},
		{"cancel", func(name string) { w.Cancel(name, "jo"); w.Stops(name) }, map[string]string{"app": "error", "tok": "error", "pro": "canceled"}, "Canceled"},
	} {
		for j, trigger := range []string{"app", "tok", "pro"} {
			if tier.Gate() && i != j {
				continue
			}
			number++
			want[hosts[trigger]] += map[string]int{"app": 3 + 2, "tok": 3 + 2, "pro": 2 + 2}[trigger]
			n, sha, name, host := number, fmt.Sprintf("%040x", number), trigger+"-"+tc.course, hosts[trigger]
			t.Run(name, func(t *testing.T) {
				host.Open(codehost.PullRequest{Number: n, Branch: name, SHA: sha})
				w.Start(build.Suite(name, int(n), build.OfTrigger(trigger), tests(sha), deployedTo("https://staging.example.com"), func(s *v1alpha1.Suite) { s.Spec.Deployment.Branch = name }))
				w.deployed(host, sha, running[trigger])
				w.comments(host, n, trigger+": The tests are running")
				tc.play(name)
				w.deployed(host, sha, running[trigger], tc.states[trigger])
				w.Eventually("the comment says so", func() string {
					if all := host.Comments(n); len(all) != 1 || !strings.Contains(all[0], tc.row) || strings.Contains(all[0], "running") {
						return fmt.Sprintf("%q", all)
					}
					return ""
				})
				w.complete(name, n)
			})
		}
	}
	for host, writes := range want {
		if deployments, comments := len(host.DeploymentWrites()), len(host.CommentWrites()); deployments+comments != writes {
			t.Errorf("%d writes about deployments and %d about comments, want %d together", deployments, comments, writes)
		}
	}
}

// complete waits until the Suite knows that everything is shown.
func (w *reportWorld) complete(name string, number int64) *v1alpha1.Suite {
	w.T.Helper()
	s := build.Suite(name, 0)
	w.Await(name+" is shown everywhere", s, func() bool {
		r := s.Status.Report
		return r != nil && r.Phase == v1alpha1.ReportCompleted && r.Deployment != nil && r.PullRequest != nil &&
			r.Deployment.Phase == v1alpha1.ReportCompleted && r.PullRequest.Phase == v1alpha1.ReportCompleted
	})
	if r := s.Status.Report.PullRequest; r.Number != number || number != 0 && (r.CommentID == 0 || !strings.HasSuffix(r.URL, fmt.Sprintf("/%d", number))) {
		w.T.Errorf("the pull request is %+v", r)
	}
	return s
}

// TestSharedDeploymentAndComment: the runs of two Triggers have one deployment and one comment. It is a success only
// when both have passed; a run that waits in the queue, and another attempt, change both.
func TestSharedDeploymentAndComment(t *testing.T) {
	t.Parallel()
	w := besideWorld(t)
	w.gitHub.Open(codehost.PullRequest{Number: 5})
	sha, in5 := build.Commit(1), func(s *v1alpha1.Suite) { s.Spec.Deployment.PullRequestNumber = 5 }
	w.Create(build.Suite("one", 0, build.OfTrigger("app"), tests(sha), in5), build.Suite("two", 0, build.OfTrigger("more"), tests(sha), in5))
	w.Runs("one")
	w.Runs("two")
	w.comments(w.gitHub, 5, "app: The tests are running", "more: The tests are running")
	w.Passes("one")
	w.Eventually("the comment shows the first end", func() string {
		if text := w.gitHub.Comments(5)[0]; !strings.Contains(text, "Passed") {
			return "it shows: " + text
		}
		return ""
	})
	w.complete("one", 5)
	w.deployed(w.gitHub, sha, "in_progress")
	w.Exits("two", 1)
	w.deployed(w.gitHub, sha, "in_progress", "failure")
	w.Start(build.Suite("three", 1, build.OfTrigger("more"), tests(sha), in5, attempt(2)))
	w.deployed(w.gitHub, sha, "in_progress", "failure", "in_progress")
	w.Passes("three")
	w.deployed(w.gitHub, sha, "in_progress", "failure", "in_progress", "success")
	w.complete("three", 5)
	w.Eventually("the comment shows the newer attempt", func() string {
		if all := w.gitHub.Comments(5); len(all) != 1 || strings.Count(all[0], "Passed") != 2 || strings.Contains(all[0], "Failed") {
			return fmt.Sprintf("%q", all)
		}
		return ""
	})
}

// TestLaterCommit: the runs of a commit that another one replaced leave the newer deployment and the newer row alone.
func TestLaterCommit(t *testing.T) {
	t.Parallel()
	w := besideWorld(t)
	w.gitHub.Open(codehost.PullRequest{Number: 5})
	in5 := func(s *v1alpha1.Suite) { s.Spec.Deployment.PullRequestNumber = 5 }
	w.Start(build.Suite("old", 0, build.OfTrigger("app"), tests(build.Commit(1)), in5, build.Keyed("stream")))
	w.deployed(w.gitHub, build.Commit(1), "in_progress")
	w.Create(build.Suite("new", 1, build.OfTrigger("app"), tests(build.Commit(2)), in5, build.Keyed("stream")))
	w.Stops("old")
	w.deployed(w.gitHub, build.Commit(1), "in_progress", "inactive")
	w.complete("old", 5)
	w.Runs("new")
	w.Passes("new")
	w.complete("new", 5)
	w.deployed(w.gitHub, build.Commit(2), "in_progress", "success")
	w.deployed(w.gitHub, build.Commit(1), "in_progress", "inactive")
	if all := w.gitHub.Comments(5); len(all) != 1 || !strings.Contains(all[0], build.Commit(2)[:12]) || strings.Contains(all[0], build.Commit(1)[:12]) {
		t.Errorf("the comments are %q", all)
	}
}

// TestStoppedInTheQueue: a run that never started has no deployment, and no pull request means no comment.
func TestStoppedInTheQueue(t *testing.T) {
	t.Parallel()
	w := besideWorld(t)
	w.Create(build.Trigger("single", build.AtMost(1), reportsTo(v1alpha1.GitHub, "acme/shop", gitHubSecret), asking))
	w.Start(build.Suite("first", 0, build.OfTrigger("single"), tests(build.Commit(1))))
	w.Create(build.Suite("second", 1, build.OfTrigger("single"), tests(build.Commit(2))))
	w.Reaches("second", v1alpha1.ReasonQueued, "")
	w.Cancel("second", "")
	w.complete("second", 0)
	if got := w.gitHub.Deployments("staging", build.Commit(2)); got != nil {
		t.Errorf("the deployments are %q", got)
	}
	if writes := w.gitHub.CommentWrites(); len(writes) > 0 {
		t.Errorf("comments were written: %+v", writes)
	}
}
