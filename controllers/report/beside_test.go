package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/tier"
)

// besideWorld has Triggers that ask for deployments and comments: "app", "more" and "tok" on GitHub, "pro" on GitLab.
// TestLeftOutFirst is about the limits, which are lifted here.
func besideWorld(t *testing.T) *reportWorld {
	t.Helper()
	w := newReportWorld(t, limitedTo(1<<20))
	w.create(
		aTrigger("app", reportsTo(v1alpha1.GitHub, "acme/shop", gitHubSecret), asking),
		aTrigger("more", reportsTo(v1alpha1.GitHub, "acme/shop", gitHubSecret), asking),
		aTrigger("tok", reportsTo(v1alpha1.GitHub, "acme/shop", "github-token"), asking),
		aTrigger("pro", reportsTo(v1alpha1.GitLab, "group/sub/project", gitLabSecret), asking),
	)
	return w
}

// limitedTo sets how much a credential may write to GitHub in a minute and in an hour.
func limitedTo(writes int) func(*reportWorld) {
	return func(w *reportWorld) {
		host := w.hosts.Hosts[v1alpha1.GitHub]
		host.Limits.PerMinute, host.Limits.PerHour = writes, writes
		w.hosts.Hosts[v1alpha1.GitHub] = host
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
	w.t.Helper()
	w.eventually(fmt.Sprintf("the deployment shows %q", states), func() string {
		return cmp.Diff([][]string{states}, host.Deployments("staging", sha))
	})
}

// comments waits until there is one comment about a pull request, with these rows.
func (w *reportWorld) comments(host *codehost.Host, number int64, rows ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the comment about %d has %q", number, rows), func() string {
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
		{"pass", w.passes, map[string]string{"app": "success", "tok": "success", "pro": "success"}, "Passed"},
		{"fail", func(name string) { w.exits(name, 1) }, map[string]string{"app": "failure", "tok": "failure", "pro": "failed"}, "Failed"},
		{"cancel", func(name string) { w.cancel(name, "jo"); w.stops(name) }, map[string]string{"app": "error", "tok": "error", "pro": "canceled"}, "Canceled"},
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
				w.create(aSuite(name, int(n), of(trigger), tests(sha), deployedTo("https://staging.example.com"), func(s *v1alpha1.Suite) { s.Spec.Deployment.Branch = name }))
				w.runs(name)
				w.deployed(host, sha, running[trigger])
				w.comments(host, n, trigger+": The tests are running")
				tc.play(name)
				w.deployed(host, sha, running[trigger], tc.states[trigger])
				w.eventually("the comment says so", func() string {
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
	w.t.Helper()
	s := &v1alpha1.Suite{}
	w.eventually(name+" is shown everywhere", func() string {
		w.must(w.Client.Get(context.Background(), w.key(name), s))
		r := s.Status.Report
		if r == nil || r.Phase != v1alpha1.ReportCompleted || r.Deployment == nil || r.PullRequest == nil ||
			r.Deployment.Phase != v1alpha1.ReportCompleted || r.PullRequest.Phase != v1alpha1.ReportCompleted {
			return fmt.Sprintf("the report is %+v", r)
		}
		return ""
	})
	if r := s.Status.Report.PullRequest; r.Number != number || number != 0 && (r.CommentID == 0 || !strings.HasSuffix(r.URL, fmt.Sprintf("/%d", number))) {
		w.t.Errorf("the pull request is %+v", r)
	}
	return s
}

// TestSharedDeploymentAndComment: the runs of two Triggers have one deployment and one comment. It is a success only
// when both have passed; a run that waits in the queue, and another attempt, change both.
func TestSharedDeploymentAndComment(t *testing.T) {
	t.Parallel()
	w := besideWorld(t)
	w.gitHub.Open(codehost.PullRequest{Number: 5})
	sha, in5 := commit(1), func(s *v1alpha1.Suite) { s.Spec.Deployment.PullRequestNumber = 5 }
	w.create(aSuite("one", 0, of("app"), tests(sha), in5), aSuite("two", 0, of("more"), tests(sha), in5))
	w.runs("one")
	w.runs("two")
	w.comments(w.gitHub, 5, "app: The tests are running", "more: The tests are running")
	w.passes("one")
	w.eventually("the comment shows the first end", func() string {
		if text := w.gitHub.Comments(5)[0]; !strings.Contains(text, "Passed") {
			return "it shows: " + text
		}
		return ""
	})
	w.complete("one", 5)
	w.deployed(w.gitHub, sha, "in_progress")
	w.exits("two", 1)
	w.deployed(w.gitHub, sha, "in_progress", "failure")
	w.create(aSuite("three", 1, of("more"), tests(sha), in5, attempt(2)))
	w.runs("three")
	w.deployed(w.gitHub, sha, "in_progress", "failure", "in_progress")
	w.passes("three")
	w.deployed(w.gitHub, sha, "in_progress", "failure", "in_progress", "success")
	w.complete("three", 5)
	w.eventually("the comment shows the newer attempt", func() string {
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
	w.create(aSuite("old", 0, of("app"), tests(commit(1)), in5, keyed("stream")))
	w.runs("old")
	w.deployed(w.gitHub, commit(1), "in_progress")
	w.create(aSuite("new", 1, of("app"), tests(commit(2)), in5, keyed("stream")))
	w.stops("old")
	w.deployed(w.gitHub, commit(1), "in_progress", "inactive")
	w.complete("old", 5)
	w.runs("new")
	w.passes("new")
	w.complete("new", 5)
	w.deployed(w.gitHub, commit(2), "in_progress", "success")
	w.deployed(w.gitHub, commit(1), "in_progress", "inactive")
	if all := w.gitHub.Comments(5); len(all) != 1 || !strings.Contains(all[0], commit(2)[:12]) || strings.Contains(all[0], commit(1)[:12]) {
		t.Errorf("the comments are %q", all)
	}
}

// TestStoppedInTheQueue: a run that never started has no deployment, and no pull request means no comment.
func TestStoppedInTheQueue(t *testing.T) {
	t.Parallel()
	w := besideWorld(t)
	w.create(aTrigger("single", atMost(1), reportsTo(v1alpha1.GitHub, "acme/shop", gitHubSecret), asking))
	w.create(aSuite("first", 0, of("single"), tests(commit(1))))
	w.runs("first")
	w.create(aSuite("second", 1, of("single"), tests(commit(2))))
	w.reaches("second", v1alpha1.ReasonQueued, "")
	w.cancel("second", "")
	w.complete("second", 0)
	if got := w.gitHub.Deployments("staging", commit(2)); got != nil {
		t.Errorf("the deployments are %q", got)
	}
	if writes := w.gitHub.CommentWrites(); len(writes) > 0 {
		t.Errorf("comments were written: %+v", writes)
	}
}
