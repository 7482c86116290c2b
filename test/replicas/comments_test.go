package replicas

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestComments: two replicas get the comments of a pull request several times at once. Each comment has one outcome, and one comment of
// Postflight shows it.
func TestComments(t *testing.T) {
	s := apiserver.Alone(t)
	kubeconfig := newProxy(t, s.Manager(t)).kubeconfig()
	tm, fake, folder := newTeam(t, s), codehost.GitHub(t), t.TempDir()
	startCluster(t, s)
	systemNamespace(t, s)
	freeLead(t, s)
	for name, content := range map[string][]byte{"key.pem": codehost.AppKey(), "webhook": []byte(ofTheApp + "\n")} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tm.wantsEvents()
	smoke := &v1alpha1.Trigger{ObjectMeta: tm.meta("smoke")}
	tm.update(smoke, func() { smoke.Spec.Repository.PullRequestComments = true })
	var all []*replica
	for range 2 {
		all = append(all, startReplica(t, kubeconfig, "--github-url="+fake.URL, fmt.Sprintf("--github-app-id=%d", codehost.AppID),
			"--github-app-key-file="+filepath.Join(folder, "key.pem"), "--github-webhook-secret-file="+filepath.Join(folder, "webhook")))
	}
	for _, r := range all {
		r.AwaitReady()
	}
	tm.awaitKnown(all)
	tm.awaitSources(all)
	fake.Open(codehost.PullRequest{Number: 5, Branch: "main", SHA: goodCommit})
	thread := &pullRequest{team: tm, fake: fake, replicas: all}
	nextSecond()
	first := tm.deliver(all, "/api/events/github", codehost.DeploymentEvent(tm.repository(), goodCommit, "staging", 1))[0].Results[0].RunID()
	tm.awaitState(first, v1alpha1.ReasonRunning)

	nextSecond()
	t.Log("what does nothing, while the run continues")
	for name, tc := range map[string]struct {
		author  int64
		body    string
		change  func(*codehost.Remark)
		answers string
	}{
		"a stranger":      {codehost.Stranger, "/postflight cancel", nil, "may write to the repository"},
		"a quote":         {codehost.Writer, "> /postflight cancel", nil, "no line that begins"},
		"a block of code": {codehost.Writer, "```\n/postflight cancel\n```", nil, "no line that begins"},
		"an edited one":   {codehost.Writer, "/postflight cancel", func(r *codehost.Remark) { fake.EditRemark(r.ID, "never mind") }, "was edited"},
		"ANSI and HTML":   {codehost.Writer, "/postflight cancel \x1b[31m<b>", nil, "this is no command"},
		"bidi":            {codehost.Writer, "\u202e/postflight cancel", nil, "no line that begins"},
	} {
		said := fake.Remark(tm.repository(), 5, tc.author, tc.body, time.Time{})
		if tc.change != nil {
			tc.change(&said)
		}
		for _, got := range thread.deliver(said, 1) {
			if !strings.Contains(got.Ignored+got.Answer, tc.answers) || len(got.Canceled)+len(got.Repeats) > 0 {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
	if got := tm.run(first); got.Spec.Cancel {
		t.Fatal("the run is canceled")
	}

	t.Log("cancel, six times at once")
	said := fake.Remark(tm.repository(), 5, codehost.Writer, "/postflight cancel", time.Time{})
	for _, got := range thread.deliver(said, 3) {
		if strings.Join(got.Canceled, " ") != first {
			t.Errorf("%+v", got)
		}
	}
	tm.awaitState(first, v1alpha1.ReasonCanceled)
	thread.shows("alice: smoke (staging) is canceled.")
	thread.reacted(said, "+1")

	t.Log("rerun, ten times at once, and after the attempt has ended")
	nextSecond()
	said = fake.Remark(tm.repository(), 5, codehost.Writer, "/postflight rerun", time.Time{})
	second := thread.reruns(said, 5, first)
	tm.awaitState(second, v1alpha1.ReasonRunning)
	thread.shows("alice: smoke (staging) runs again, as attempt 2.")
	tm.complete(second)
	tm.awaitState(second, v1alpha1.ReasonPassed)
	if again := thread.reruns(said, 1, first); again != second || len(tm.suites()) != 2 {
		t.Errorf("delivered later: %s, and %d Suites", again, len(tm.suites()))
	}
	thread.reacted(said, "+1")
	if by := tm.run(second).Annotations[v1alpha1.AnnotationRerunBy]; by != "alice on GitHub, in a comment" {
		t.Errorf("by %q", by)
	}

	t.Log("the head changes after the comment, and the fork of a stranger has the branch")
	nextSecond()
	said = fake.Remark(tm.repository(), 5, codehost.Writer, "/postflight rerun", time.Time{})
	fake.Change(5, func(p *codehost.PullRequest) { p.SHA = strings.Repeat("f", 40) })
	thread.nothing(said, "no run tested ffffffffffff")
	fake.Change(5, func(p *codehost.PullRequest) { p.SHA, p.HeadRepository = goodCommit, "mallory/shop" })
	thread.nothing(said, "no run tested")
	if n := len(tm.suites()); n != 2 {
		t.Errorf("%d Suites", n)
	}
}

// nextSecond waits until what happens next has a later time than what happened before: code hosts and the API server know whole seconds.
func nextSecond() { time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) }

func (tm *team) run(name string) *v1alpha1.Suite {
	tm.t.Helper()
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: tm.namespace, Name: name}}
	tm.get(s)
	return s
}

// pullRequest is a pull request whose comments several replicas hear of.
type pullRequest struct {
	*team
	fake     *codehost.Host
	replicas []*replica
}

// deliver sends the event of a comment several times to each replica, at once.
func (p *pullRequest) deliver(said codehost.Remark, times int) []httpapi.EventResult {
	p.t.Helper()
	var wait sync.WaitGroup
	got := make([]httpapi.EventResult, times*len(p.replicas))
	for i := range got {
		wait.Go(func() {
			status := 0
			if status, got[i] = p.send(p.replicas[i%len(p.replicas)], "/api/events/github", said.Event()); status != 200 {
				p.t.Errorf("%q: %d", said.Body, status)
			}
		})
	}
	wait.Wait()
	return got
}

// reruns returns the one attempt that all deliveries of a comment name.
func (p *pullRequest) reruns(said codehost.Remark, times int, of string) (next string) {
	p.t.Helper()
	for _, got := range p.deliver(said, times) {
		if len(got.Repeats) != 1 || got.Repeats[0].RunID != of || got.Repeats[0].NextRunID == "" || next != "" && got.Repeats[0].NextRunID != next {
			p.t.Fatalf("%+v, want the next attempt of %s, %s", got, of, next)
		}
		next = got.Repeats[0].NextRunID
	}
	return next
}

func (p *pullRequest) nothing(said codehost.Remark, answer string) {
	p.t.Helper()
	for _, got := range p.deliver(said, 1) {
		if !strings.Contains(got.Answer, answer) || len(got.Repeats)+len(got.Canceled) > 0 {
			p.t.Errorf("%+v, want %q", got, answer)
		}
	}
}

// shows waits until the one comment of Postflight has a line.
func (p *pullRequest) shows(line string) {
	p.t.Helper()
	poll.Until(p.t, "the comment shows "+line, func() string {
		var own []string
		for _, text := range p.fake.Comments(5) {
			if strings.HasPrefix(text, "<!-- postflight ") {
				own = append(own, text)
			}
		}
		if len(own) != 1 || !strings.Contains(own[0], "\n`"+line+"`\n") {
			return fmt.Sprintf("%q", own)
		}
		return ""
	})
}

func (p *pullRequest) reacted(said codehost.Remark, want string) {
	p.t.Helper()
	if got := strings.Join(p.fake.Reactions(said.ID), " "); got != want {
		p.t.Errorf("the reactions to %q are %q, want %q", said.Body, got, want)
	}
}
