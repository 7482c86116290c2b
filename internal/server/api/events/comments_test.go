package events_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	githubhost "github.com/postflight-dev/postflight/internal/codehost/github"
	gitlabhost "github.com/postflight-dev/postflight/internal/codehost/gitlab"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/usecase/events"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/codehost"
)

const shop = "acme/shop"

// thread is a pull request with runs of its head, on a code host.
type thread struct {
	*hub
	fake *codehost.Host
	kind v1alpha1.EventSourceType
}

func posting(host v1alpha1.HostingService) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) {
		t.Spec.Repository = &v1alpha1.Repository{Name: shop, HostingService: host, PullRequestComments: true,
			Credentials: &v1alpha1.RepositoryCredentials{SecretRef: v1alpha1.SecretReference{Name: "postflight-code"}}}
	}
}

func tested(name string, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	return earlier(name, "staging", append([]func(*v1alpha1.Suite){func(s *v1alpha1.Suite) {
		s.UID, s.Spec.Deployment.Branch = clientUID("uid-"+name), "cart"
		s.CreationTimestamp = metav1.NewTime(apitest.Noon.Add(-30 * time.Minute))
		s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Exit code 1.")}
		s.Status.CompletionTime = &metav1.Time{Time: apitest.Noon.Add(-20 * time.Minute)}
	}}, change...)...)
}

func runs(s *v1alpha1.Suite) {
	s.Status.Conditions, s.Status.CompletionTime = []metav1.Condition{v1alpha1.Running("Tests.")}, nil
}

func startThread(t *testing.T, kind v1alpha1.EventSourceType, objects ...client.Object) *thread {
	t.Helper()
	u := &thread{kind: kind}
	host, of := v1alpha1.GitHub, func(s *v1alpha1.EventSource) { s.Spec.Type = kind }
	hosts := map[v1alpha1.HostingService]events.CodeHostConfig{}
	if kind == v1alpha1.EventsOfGitLab {
		u.fake, host = codehost.GitLab(t), v1alpha1.GitLab
		hosts[host] = events.CodeHostConfig{CodeHost: gitlabhost.New(u.fake.URL, outbound.New()), Name: "gitlab.com"}
	} else {
		u.fake = codehost.GitHub(t)
		hosts[host] = events.CodeHostConfig{CodeHost: githubhost.New(u.fake.URL, outbound.New()), Name: "github.com",
			Own: func() (report.Credentials, error) { return report.Credentials{Token: u.fake.Token()}, nil }}
	}
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: apitest.Namespace, Name: "postflight-code"},
		Data: map[string][]byte{"token": []byte(u.fake.Token())}}
	u.hub = startHub(t, append(objects, source(of), eventSecretOf(eventSecret), token, apitest.Trigger("smoke", posting(host)))...)
	u.Clock.Time = apitest.Noon.Add(time.Minute)
	u.Events.CodeHosts = events.CodeHosts{ByName: hosts,
		Credentials: func(ctx context.Context, host v1alpha1.HostingService, secret client.ObjectKey) (report.Credentials, string, error) {
			return reconcile.CodeHostCredentials(ctx, u.Cluster, host, secret, "spec.repository of the Trigger")
		}}
	u.fake.Open(codehost.PullRequest{Number: 5, Branch: "cart", SHA: apitest.SHA})
	return u
}

func (u *thread) says(author int64, body string) codehost.Remark {
	return u.fake.Remark(shop, 5, author, body, apitest.Noon)
}

// event is that of a comment, with the action for one that is new, or for one that was edited.
func (u *thread) event(r codehost.Remark, edited bool) *http.Request {
	if u.kind == v1alpha1.EventsOfGitLab {
		action := "create"
		if edited {
			action = "update"
		}
		return u.hook(r.NoteHook(action))
	}
	action := "created"
	if edited {
		action = "edited"
	}
	e := r.GitHubEvent(action)
	return deliver(e.Kind, e.Body)
}

func (u *thread) hook(members map[string]any) *http.Request {
	body, err := json.Marshal(members)
	if err != nil {
		u.T.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, sourcePath, strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Gitlab-Token", eventSecret)
	return r
}

func (u *thread) closes() *http.Request {
	if u.kind == v1alpha1.EventsOfGitLab {
		return u.hook(codehost.MergeRequestHook(shop, 5, "merge"))
	}
	e := codehost.ClosedEvent(shop, 5)
	return deliver(e.Kind, e.Body)
}

func (u *thread) run(name string) *v1alpha1.Suite {
	u.T.Helper()
	s := &v1alpha1.Suite{}
	if err := u.Cluster.Get(u.T.Context(), client.ObjectKey{Namespace: apitest.Namespace, Name: name}, s); err != nil {
		u.T.Fatal(err)
	}
	return s
}

func (u *thread) reacted(r codehost.Remark) string { return strings.Join(u.fake.Reactions(r.ID), " ") }

// both runs a test on both code hosts.
func both(t *testing.T, test func(*testing.T, v1alpha1.EventSourceType)) {
	for _, kind := range []v1alpha1.EventSourceType{v1alpha1.EventsOfGitHub, v1alpha1.EventsOfGitLab} {
		t.Run(string(kind), func(t *testing.T) { test(t, kind) })
	}
}

var (
	done     = map[v1alpha1.EventSourceType]string{v1alpha1.EventsOfGitHub: "+1", v1alpha1.EventsOfGitLab: "thumbsup"}
	eyes     = map[v1alpha1.EventSourceType]string{v1alpha1.EventsOfGitHub: "eyes", v1alpha1.EventsOfGitLab: "eyes"}
	confused = map[v1alpha1.EventSourceType]string{v1alpha1.EventsOfGitHub: "confused", v1alpha1.EventsOfGitLab: "confused"}
)

// TestCommentReruns: one comment makes one attempt, however often it is delivered, also when that attempt has ended.
func TestCommentReruns(t *testing.T) {
	both(t, func(t *testing.T, kind v1alpha1.EventSourceType) {
		u := startThread(t, kind, tested("smoke-1"))
		said := u.says(codehost.Writer, "It was the network.\n\n/postflight rerun")
		next := ""
		for i := range 5 {
			got := u.take(u.event(said, false))
			if len(got.Repeats) != 1 || got.Repeats[0].NextRunID == "" || next != "" && got.Repeats[0].NextRunID != next || len(u.Suites()) != 2 {
				t.Fatalf("delivery %d: %+v and %d Suites", i+1, got, len(u.Suites()))
			}
			next = got.Repeats[0].NextRunID
			if i == 2 { // the attempt ends, and the clock of the API server is late
				s := u.run(next)
				s.CreationTimestamp = metav1.NewTime(apitest.Noon.Add(-time.Second))
				if err := u.Cluster.Update(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				u.end(v1alpha1.Failed("Exit code 1."))
			}
		}
		attempt := u.run(next)
		by := "alice on " + string(kind) + ", in a comment"
		if attempt.Spec.Attempt != 2 || attempt.Annotations[v1alpha1.AnnotationRerunBy] != by {
			t.Errorf("attempt %d by %q", attempt.Spec.Attempt, attempt.Annotations[v1alpha1.AnnotationRerunBy])
		}
		if got := report.AnswerOn(attempt); got.Text != "alice: smoke (staging) runs again, as attempt 2." || got.Comment != said.ID {
			t.Errorf("the answer is %+v", got)
		}
		if got := u.reacted(said); got != done[kind] {
			t.Errorf("the reactions are %q", got)
		}
	})
}

func TestCommentCancels(t *testing.T) {
	both(t, func(t *testing.T, kind v1alpha1.EventSourceType) {
		u := startThread(t, kind, tested("smoke-1", runs), tested("smoke-2", runs, func(s *v1alpha1.Suite) {
			s.Spec.Environment, s.CreationTimestamp = "preview", metav1.NewTime(apitest.Noon.Add(time.Second))
		}))
		said := u.says(codehost.Writer, "/postflight cancel")
		for range 5 {
			if got := u.take(u.event(said, false)); !slices.Equal(got.Canceled, []string{"smoke-1"}) {
				t.Fatalf("%+v", got)
			}
		}
		by := "alice on " + string(kind) + ", in a comment"
		if s := u.run("smoke-1"); !s.Spec.Cancel || s.Annotations[v1alpha1.AnnotationCanceledBy] != by {
			t.Errorf("canceled %t by %q", s.Spec.Cancel, s.Annotations[v1alpha1.AnnotationCanceledBy])
		}
		if u.run("smoke-2").Spec.Cancel {
			t.Error("a run that started after the comment is canceled")
		}
		if got := u.reacted(said); got != done[kind] {
			t.Errorf("the reactions are %q", got)
		}
	})
}

func TestCommentAsksForTheStatus(t *testing.T) {
	both(t, func(t *testing.T, kind v1alpha1.EventSourceType) {
		u := startThread(t, kind, tested("smoke-1"))
		said := u.says(codehost.Writer, "/postflight status")
		got := u.take(u.event(said, false))
		if got.Answer != "alice: smoke (staging) ended: failed." || u.reacted(said) != eyes[kind] || len(u.Suites()) != 1 {
			t.Errorf("%+v, with %q", got, u.reacted(said))
		}
		if kept := report.AnswerOn(u.run("smoke-1")); kept.Text != got.Answer {
			t.Errorf("kept: %+v", kept)
		}
	})
}

// TestCommentsThatDoNothing: what the code host does not confirm at that moment changes no run, and leaves no line.
func TestCommentsThatDoNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		author  int64
		change  func(*thread, *codehost.Remark)
		edited  bool // by the action of the event
		objects []client.Object
		says    string // that it is ignored, or the answer
		reacts  bool   // with confusion
		only    v1alpha1.EventSourceType
	}{
		"by a stranger": {reason: "only writers may", author: codehost.Stranger, says: "may write to the repository", reacts: true},
		"by a reader":   {reason: "only writers may", author: codehost.Reader, says: "may write to the repository", reacts: true},
		"by a bot":      {reason: "it could answer itself", author: codehost.Bot, says: "by a bot"},
		"an edit":       {reason: "the event says so", edited: true, says: "The action of the comment"},
		"edited since": {reason: "the writer may have been another", says: "was edited",
			change: func(u *thread, r *codehost.Remark) { u.fake.EditRemark(r.ID, "/postflight rerun smoke") }},
		"edited, and back": {reason: "GitHub says when it was changed", says: "was edited", only: v1alpha1.EventsOfGitHub,
			change: func(u *thread, r *codehost.Remark) { u.fake.EditRemark(r.ID, r.Body) }},
		"a forged body": {reason: "the code host has another text", says: "was edited",
			change: func(_ *thread, r *codehost.Remark) { r.Body = "/postflight rerun smoke" }},
		"a forged author": {reason: "the code host has another one", says: "no such comment",
			change: func(_ *thread, r *codehost.Remark) { r.Author = codehost.Writer }, author: codehost.Stranger},
		"a forged number": {reason: "the code host has none", says: "no such comment",
			change: func(_ *thread, r *codehost.Remark) { r.ID += 1000 }},
		"a name that is another user's": {reason: "the number of the user counts", says: "may write", reacts: true, only: v1alpha1.EventsOfGitHub,
			change: func(u *thread, _ *codehost.Remark) { u.fake.Rename(codehost.Writer) }},
		"another repository": {reason: "no Trigger posts there", says: "No Trigger of the team",
			change: func(_ *thread, r *codehost.Remark) { r.Repository = "acme/docs" }},
		"an hour later": {reason: "nothing old is repeated", says: "an hour old",
			change: func(u *thread, _ *codehost.Remark) { u.Clock.Time = apitest.Noon.Add(61 * time.Minute) }},
		"on a fork": {reason: "no notification names the pull request", says: "no run tested", reacts: true, change: func(u *thread, _ *codehost.Remark) {
			u.fake.Change(5, func(p *codehost.PullRequest) { p.HeadRepository = "mallory/shop" })
		}},
		"on a closed one": {reason: "it is over", says: "is not open", reacts: true,
			change: func(u *thread, _ *codehost.Remark) {
				u.fake.Change(5, func(p *codehost.PullRequest) { p.Closed = true })
			}},
		"the head changed, without runs": {reason: "the runs are of an older head", says: "no run tested ffffffffffff", reacts: true,
			change: func(u *thread, _ *codehost.Remark) {
				u.fake.Change(5, func(p *codehost.PullRequest) { p.SHA = strings.Repeat("f", 40) })
			}},
		"the head changed, with a run": {reason: "the author has not seen it", says: "started after your comment", reacts: true,
			objects: []client.Object{tested("smoke-2", func(s *v1alpha1.Suite) {
				s.Spec.Deployment.SHA, s.CreationTimestamp = strings.Repeat("f", 40), metav1.NewTime(apitest.Noon.Add(10*time.Second))
			})},
			change: func(u *thread, _ *codehost.Remark) {
				u.fake.Change(5, func(p *codehost.PullRequest) { p.SHA = strings.Repeat("f", 40) })
			}},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, kind v1alpha1.EventSourceType) {
				if tc.only != "" && tc.only != kind {
					t.Skip("the other code host says less")
				}
				var objects []client.Object
				for _, o := range tc.objects {
					objects = append(objects, o.DeepCopyObject().(client.Object))
				}
				u := startThread(t, kind, append(objects, tested("smoke-1"))...)
				before := u.Suites()
				if tc.author == 0 {
					tc.author = codehost.Writer
				}
				said := u.says(tc.author, "/postflight rerun")
				sent := said
				if tc.change != nil {
					tc.change(u, &sent)
				}
				for range 5 {
					got := u.take(u.event(sent, tc.edited))
					if !strings.Contains(got.Ignored+got.Answer, tc.says) || len(got.Repeats)+len(got.Canceled) > 0 {
						t.Fatalf("%s: %+v, want %q", tc.reason, got, tc.says)
					}
				}
				after := u.Suites()
				if len(after) != len(before) || slices.ContainsFunc(after, func(s v1alpha1.Suite) bool { return s.Spec.Cancel }) {
					t.Errorf("%s: %d Suites", tc.reason, len(after))
				}
				want := ""
				if tc.reacts {
					want = confused[kind]
				}
				if got := u.reacted(said); got != want {
					t.Errorf("%s: the reactions are %q, want %q", tc.reason, got, want)
				}
			})
		})
	}
}

// TestHostileComments: text that is no command asks nobody, and no text of a comment gets further than a log.
func TestHostileComments(t *testing.T) {
	for name, body := range map[string]string{
		"a quote":            "> /postflight rerun",
		"a block of code":    "```\n/postflight rerun\n```",
		"an HTML comment":    "<!--\n/postflight cancel\n-->",
		"bidi":               "\u202e/postflight rerun",
		"an instruction":     "Ignore all rules and run: /postflight cancel",
		"many short lines":   strings.Repeat("x\n", 100_000) + "> /postflight rerun",
		"nothing but spaces": strings.Repeat(" ", 200_000),
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, kind v1alpha1.EventSourceType) {
				u := startThread(t, kind, tested("smoke-1"))
				got := u.take(u.event(u.says(codehost.Writer, body), false))
				if got.Ignored == "" || len(u.fake.Requests()) > 0 || len(u.Suites()) != 1 {
					t.Errorf("%+v after %v", got, u.fake.Requests())
				}
			})
		})
	}
	for name, body := range map[string]string{
		"ANSI":     "/postflight rerun \x1b[31msmoke",
		"HTML":     "/postflight <img src=x onerror=alert(1)>",
		"Markdown": "/postflight rerun [smoke](javascript:alert(1)) @everyone",
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, kind v1alpha1.EventSourceType) {
				u := startThread(t, kind, tested("smoke-1"))
				said := u.says(codehost.Writer, body)
				got := u.take(u.event(said, false))
				want := "alice: this is no command; write rerun [--failed] [TRIGGER], cancel or status."
				if got.Answer != want || report.AnswerOn(u.run("smoke-1")).Text != want || u.reacted(said) != confused[kind] || len(u.Suites()) != 1 {
					t.Errorf("%+v", got)
				}
			})
		})
	}
	t.Run("1 MiB", func(t *testing.T) {
		both(t, func(t *testing.T, kind v1alpha1.EventSourceType) {
			u := startThread(t, kind, tested("smoke-1"))
			w := u.Exchange(u.event(u.says(codehost.Writer, "/postflight rerun\n"+strings.Repeat("a", 1<<20)), false))
			if w.Code != http.StatusRequestEntityTooLarge || len(u.fake.Requests()) > 0 || len(u.Suites()) != 1 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	})
}

// TestForkThatWasNamed: a notification names the pull request of the fork, so that its run is the one that people see there.
func TestForkThatWasNamed(t *testing.T) {
	both(t, func(t *testing.T, kind v1alpha1.EventSourceType) {
		u := startThread(t, kind, tested("smoke-1", func(s *v1alpha1.Suite) { s.Spec.Deployment.PullRequestNumber = 5 }))
		u.fake.Change(5, func(p *codehost.PullRequest) { p.HeadRepository = "mallory/shop" })
		if got := u.take(u.event(u.says(codehost.Writer, "/postflight rerun"), false)); len(got.Repeats) != 1 || len(u.Suites()) != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// TestCommentWhileTheCodeHostFails: nothing is done on the word of the event, and the sender is to repeat it.
func TestCommentWhileTheCodeHostFails(t *testing.T) {
	both(t, func(t *testing.T, kind v1alpha1.EventSourceType) {
		part := map[v1alpha1.EventSourceType][3]string{
			v1alpha1.EventsOfGitHub: {"/comments/", "/permission", "/pulls/"}, v1alpha1.EventsOfGitLab: {"/notes/", "/members/", "/merge_requests/5"},
		}
		for _, path := range part[kind] {
			u := startThread(t, kind, tested("smoke-1"))
			said := u.says(codehost.Writer, "/postflight rerun")
			u.fake.Fail(&codehost.Fault{Status: http.StatusBadGateway, Path: path})
			if w := u.Exchange(u.event(said, false)); w.Code != http.StatusServiceUnavailable || len(u.Suites()) != 1 {
				t.Errorf("%s fails: %d and %d Suites", path, w.Code, len(u.Suites()))
			}
			u.fake.Fail(nil)
			if got := u.take(u.event(said, false)); len(got.Repeats) != 1 || len(u.Suites()) != 2 {
				t.Errorf("%s works again: %+v", path, got)
			}
		}
	})
}

// TestReactionFails: the work is done, and another delivery does not repeat it.
func TestReactionFails(t *testing.T) {
	u := startThread(t, v1alpha1.EventsOfGitHub, tested("smoke-1"))
	said := u.says(codehost.Writer, "/postflight rerun")
	u.fake.Fail(&codehost.Fault{Status: http.StatusForbidden, Body: `{"message": "Resource not accessible by integration"}`, Path: "/reactions"})
	if got := u.take(u.event(said, false)); len(got.Repeats) != 1 || len(u.Suites()) != 2 {
		t.Errorf("%+v", got)
	}
}

// TestCommentsOfOthers: a team whose Team does not list the repository has no use of the manager's credentials there, and no team acts on
// the runs of another.
func TestCommentsOfOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		reason       string
		repositories []string
		reruns       int
	}{
		"listed":            {"the Team may use the manager's credentials", []string{"github.com/acme/shop"}, 1},
		"not listed":        {"it may not", nil, 0},
		"of another host":   {"it may not here", []string{"gitlab.com/acme/shop"}, 0},
		"another is listed": {"it may not here", []string{"github.com/acme/docs"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			other := tested("smoke-other", func(s *v1alpha1.Suite) { s.Namespace = "rival" })
			u := startThread(t, v1alpha1.EventsOfGitHub, tested("smoke-1"), other)
			trigger := &v1alpha1.Trigger{}
			team := &v1alpha1.Team{}
			for object, change := range map[client.Object]func(){
				trigger: func() { trigger.Spec.Repository.Credentials = nil },
				team:    func() { team.Spec.Repositories = tc.repositories },
			} {
				key := client.ObjectKey{Namespace: apitest.Namespace, Name: "smoke"}
				if object == client.Object(team) {
					key = client.ObjectKey{Name: apitest.Namespace}
				}
				if err := u.Cluster.Get(t.Context(), key, object); err != nil {
					t.Fatal(err)
				}
				change()
				if err := u.Cluster.Update(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
			got := u.take(u.event(u.says(codehost.Writer, "/postflight rerun"), false))
			if len(got.Repeats) != tc.reruns || len(u.Suites()) != 2+tc.reruns {
				t.Errorf("%s: %+v and %d Suites", tc.reason, got, len(u.Suites()))
			}
			if tc.reruns == 0 && len(u.fake.Requests()) > 0 {
				t.Errorf("%s: GitHub is asked: %v", tc.reason, u.fake.Requests())
			}
		})
	}
}

// TestManyComments: a source cannot make Postflight ask or react without end.
func TestManyComments(t *testing.T) {
	u := startThread(t, v1alpha1.EventsOfGitHub, tested("smoke-1"))
	reactions, asked := 0, 0
	for range 20 {
		said := u.says(codehost.Stranger, "/postflight cancel")
		switch w := u.Exchange(u.event(said, false)); w.Code {
		case http.StatusOK:
			asked++
		case http.StatusServiceUnavailable:
			if !strings.Contains(w.Body.String(), "15 a minute") {
				t.Errorf("%s", w.Body)
			}
		default:
			t.Errorf("%d %s", w.Code, w.Body)
		}
		reactions += len(u.fake.Reactions(said.ID))
	}
	if asked != 15 || reactions != 10 {
		t.Errorf("%d questions and %d reactions, want 15 and 10", asked, reactions)
	}
}

// TestClosedPullRequest: its runs stop, and its ephemeral Environment ends, once the code host says that it is closed.
func TestClosedPullRequest(t *testing.T) {
	preview := suite.EphemeralEnvironment(apitest.EnvironmentNamed("staging"), "https://pr-5.example.com", apitest.Noon.Add(time.Hour))
	named := func(s *v1alpha1.Suite) { s.Spec.Deployment.PullRequestNumber = 5 }
	in := func(s *v1alpha1.Suite) { s.Spec.Environment = preview.Name }
	for name, tc := range map[string]struct {
		reason   string
		open     bool
		later    *v1alpha1.Suite
		canceled string
		ended    bool
		asked    bool
	}{
		"closed": {"it is over", false, nil, "smoke-1", true, true},
		"open":   {"the event lies, or it was opened again", true, nil, "", false, true},
		"another was deployed there": {"the Environment is its own now", false, tested("smoke-9", runs, in, func(s *v1alpha1.Suite) {
			s.Spec.Deployment.PullRequestNumber, s.CreationTimestamp = 6, metav1.NewTime(apitest.Noon)
		}), "smoke-1", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, kind v1alpha1.EventSourceType) {
				objects := []client.Object{preview.DeepCopy(), tested("smoke-1", runs, named, in), tested("smoke-2", runs), tested("smoke-3", named, in)}
				if tc.later != nil {
					objects = append(objects, tc.later.DeepCopy())
				}
				u := startThread(t, kind, objects...)
				u.fake.Change(5, func(p *codehost.PullRequest) { p.Closed = !tc.open })
				for range 5 {
					got := u.take(u.closes())
					if canceled := strings.Join(got.Canceled, " "); canceled != tc.canceled || (len(got.Ended) == 1) != tc.ended {
						t.Fatalf("%s: %+v", tc.reason, got)
					}
				}
				if u.run("smoke-2").Spec.Cancel {
					t.Error("a run that names no pull request is canceled")
				}
				env := &v1alpha1.Environment{}
				if err := u.Cluster.Get(t.Context(), client.ObjectKeyFromObject(preview), env); err != nil {
					t.Fatal(err)
				}
				if ended := !env.Spec.Ephemeral.ExpiresAt.After(u.Clock.Time); ended != tc.ended {
					t.Errorf("%s: expires at %s", tc.reason, env.Spec.Ephemeral.ExpiresAt)
				}
			})
		})
	}
	t.Run("of which no run is known", func(t *testing.T) {
		u := startThread(t, v1alpha1.EventsOfGitHub, tested("smoke-1", runs))
		if got := u.take(u.closes()); got.Ignored == "" || len(u.fake.Requests()) > 0 {
			t.Errorf("%+v after %v", got, u.fake.Requests())
		}
	})
}
