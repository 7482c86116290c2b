package command

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/test/build"
)

var (
	written = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	head    = strings.Repeat("a", 40)
)

// run was created, and unless it goes on ended, some minutes before the comment.
func run(name string, change ...func(*v1alpha1.Suite)) report.Run {
	s := &v1alpha1.Suite{}
	s.Name, s.CreationTimestamp = name, metav1.NewTime(written.Add(-10*time.Minute))
	s.Spec.Trigger, s.Spec.Environment, s.Spec.Attempt = v1alpha1.TriggerReference{Name: "smoke", UID: "uid-smoke"}, "staging", 1
	s.Spec.Deployment = v1alpha1.Deployment{SHA: head, Branch: "cart", Repository: "acme/shop"}
	s.Status.Conditions = []metav1.Condition{v1alpha1.Failed("Exit code 1.")}
	s.Status.CompletionTime = &metav1.Time{Time: written.Add(-time.Minute)}
	build.With(s, change...)
	t := &v1alpha1.Trigger{}
	t.Name, t.UID = s.Spec.Trigger.Name, s.Spec.Trigger.UID
	t.Spec.Repository = &v1alpha1.Repository{Name: "acme/shop", PullRequestComments: true}
	return report.Run{Suite: s, Trigger: t}
}

func running(s *v1alpha1.Suite) {
	s.Status.Conditions, s.Status.CompletionTime = []metav1.Condition{v1alpha1.Running("Tests.")}, nil
}

func ended(at time.Duration, c metav1.Condition) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.Conditions, s.Status.CompletionTime = []metav1.Condition{c}, &metav1.Time{Time: written.Add(at)}
	}
}

func created(at time.Duration) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.CreationTimestamp = metav1.NewTime(written.Add(at)) }
}

func of(trigger string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Trigger = v1alpha1.TriggerReference{Name: trigger, UID: "uid"} }
}

func attempt(n int32) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Attempt = n }
}

func number(n int64) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.PullRequestNumber = n }
}

func onBranch(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Branch = name }
}

// unnamed is a run whose notification names no repository.
func unnamed(change func(*v1alpha1.Repository)) report.Run {
	r := run("unnamed", func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository = "" })
	change(r.Trigger.Spec.Repository)
	return r
}

func names(suites []*v1alpha1.Suite) string {
	var all []string
	for _, s := range suites {
		all = append(all, s.Name)
	}
	return strings.Join(all, " ")
}

func TestDecide(t *testing.T) {
	rerun, cancel, status := Command{Verb: Rerun}, Command{Verb: Cancel}, Command{Verb: Status}
	fork := func(p *report.PullRequest) { p.Fork = true }
	ownRequest := func(s *v1alpha1.Suite) {
		s.Annotations = map[string]string{v1alpha1.AnnotationRequestID: RequestID(v1alpha1.GitHub, 7) + ".X"}
	}
	canceled := v1alpha1.Canceled("")
	for name, tc := range map[string]struct {
		reason  string
		command Command
		request func(*report.PullRequest)
		runs    []report.Run
		want    string // names of runs to rerun or cancel
		says    string
	}{
		"rerun":                            {"it has ended", rerun, nil, []report.Run{run("a")}, "a", ""},
		"rerun of all":                     {"each row", rerun, nil, []report.Run{run("a"), run("b", of("e2e"))}, "a b", ""},
		"rerun of a Trigger":               {"that one", Command{Verb: Rerun, Trigger: "e2e"}, nil, []report.Run{run("a"), run("b", of("e2e"))}, "b", ""},
		"rerun of an unknown Trigger":      {"there is none", Command{Verb: Rerun, Trigger: "load"}, nil, []report.Run{run("a")}, "", "the Trigger load"},
		"rerun of the newest attempt":      {"the others have a next one", rerun, nil, []report.Run{run("a"), run("b", attempt(2))}, "b", ""},
		"of a run that continues":          {"its result is to come", rerun, nil, []report.Run{run("a", running)}, "", "had not ended when you commented"},
		"that ended after the comment":     {"a later delivery must not decide otherwise", rerun, nil, []report.Run{run("a", ended(time.Minute, v1alpha1.Failed("")))}, "", "had not ended"},
		"the next attempt exists":          {"the comment means the one before", rerun, nil, []report.Run{run("a"), run("b", attempt(2), created(time.Second))}, "a", ""},
		"the same second":                  {"it may be the comment's own", rerun, nil, []report.Run{run("a"), run("b", attempt(2), created(0))}, "a", ""},
		"a clock is late":                  {"the request says who started it", rerun, nil, []report.Run{run("a"), run("b", attempt(2), created(-time.Second), ownRequest)}, "a", ""},
		"failed tests":                     {"", Command{Verb: Rerun, Failed: true}, nil, []report.Run{run("a"), run("b", of("e2e"), ended(-time.Minute, v1alpha1.Passed("")))}, "a", "e2e (staging) has passed"},
		"the head changed":                 {"those runs were not seen", rerun, nil, []report.Run{run("a", created(time.Minute))}, "", "started after your comment"},
		"another commit":                   {"it is not the head", rerun, nil, []report.Run{run("a", func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = strings.Repeat("b", 40) })}, "", "no run tested aaaaaaaaaaaa"},
		"no runs":                          {"", rerun, nil, nil, "", "no run tested"},
		"closed":                           {"it is over", rerun, func(p *report.PullRequest) { p.Open = false }, []report.Run{run("a")}, "", "#5 is not open"},
		"of another pull request":          {"the notification names it", rerun, nil, []report.Run{run("a", number(6))}, "", "no run tested"},
		"of this pull request":             {"the notification names it", rerun, nil, []report.Run{run("a", number(5), onBranch("other"))}, "a", ""},
		"of another branch":                {"the same commit was deployed elsewhere", rerun, nil, []report.Run{run("a", onBranch("main"))}, "", "no run tested"},
		"without a branch":                 {"the commit is all that is known", rerun, nil, []report.Run{run("a", onBranch(""))}, "a", ""},
		"a fork":                           {"its branch may have the same name", rerun, fork, []report.Run{run("a")}, "", "no run tested"},
		"a fork that was named":            {"the team deployed it on purpose", rerun, fork, []report.Run{run("a", number(5))}, "a", ""},
		"of another repository":            {"the Trigger posts elsewhere", rerun, nil, []report.Run{func() report.Run { r := run("a"); r.Trigger.Spec.Repository.Name = "acme/docs"; return r }()}, "", "no run tested"},
		"without a repository, of another": {"the Trigger posts elsewhere", rerun, nil, []report.Run{unnamed(func(r *v1alpha1.Repository) { r.Name = "acme/docs" })}, "", "no run tested"},
		"without a repository, elsewhere":  {"the Trigger posts to another code host", rerun, nil, []report.Run{unnamed(func(r *v1alpha1.Repository) { r.HostingService = v1alpha1.GitLab })}, "", "no run tested"},
		"without a repository":             {"the Trigger's is meant", rerun, nil, []report.Run{unnamed(func(*v1alpha1.Repository) {})}, "unnamed", ""},
		"a Trigger that was replaced":      {"its runs are no longer posted", rerun, nil, []report.Run{func() report.Run { r := run("a"); r.Trigger.UID = "new"; return r }()}, "", "no run tested"},
		"cancel":                           {"what has not ended", cancel, nil, []report.Run{run("a", running), run("b", of("e2e"))}, "a", ""},
		"cancel what is canceled already":  {"another delivery did", cancel, nil, []report.Run{run("a", ended(time.Minute, canceled))}, "a", ""},
		"cancel what was canceled before":  {"by others", cancel, nil, []report.Run{run("a", ended(-time.Minute, canceled))}, "", "all runs had ended"},
		"cancel what started later":        {"it was not seen", cancel, nil, []report.Run{run("a"), run("b", running, created(time.Minute))}, "", "all runs had ended"},
		"status":                           {"nothing changes", status, nil, []report.Run{run("a"), run("b", running, of("e2e"))}, "", "smoke (staging) ended: failed; e2e (staging) has not ended"},
		"unknown":                          {"it is explained", Command{}, nil, []report.Run{run("a")}, "", "this is no command"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observation{
				Command: tc.command, Said: Said{Author: "alice", CreatedAt: written}, CommentID: 7,
				Target:      report.Target{Host: v1alpha1.GitHub, Repository: "acme/shop"},
				PullRequest: report.PullRequest{Number: 5, Open: true, Branch: "cart", SHA: head}, Runs: tc.runs,
			}
			if tc.request != nil {
				tc.request(&o.PullRequest)
			}
			plan := Decide(o)
			got := plan.Rerun
			if tc.command.Verb == Cancel {
				got = plan.Cancel
			}
			says := strings.Join(plan.Says, "; ")
			if names(got) != tc.want || !strings.Contains(says, tc.says) || tc.says == "" && says != "" || len(plan.Rerun) > 0 && len(plan.Cancel) > 0 {
				t.Errorf("%s: %q, says %q, want %q and %q", tc.reason, names(got), says, tc.want, tc.says)
			}
			if refused := tc.want == "" && tc.command.Verb != Status; plan.Refused != refused {
				t.Errorf("%s: refused %t, want %t", tc.reason, plan.Refused, refused)
			}
		})
	}
}

func TestProblem(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		change   func(*event.Comment, *Said)
		gone     bool
		says     string
		stranger bool
	}{
		"as it was written":          {"it counts", func(*event.Comment, *Said) {}, false, "", false},
		"line ends":                  {"code hosts change them", func(_ *event.Comment, s *Said) { s.Body += "\r\n" }, false, "", false},
		"gone":                       {"it was deleted, or never was", func(*event.Comment, *Said) {}, true, "no such comment", false},
		"on another pull request":    {"the event lies", func(_ *event.Comment, s *Said) { s.Number = 6 }, false, "no such comment", false},
		"by another author":          {"the event lies", func(_ *event.Comment, s *Said) { s.AuthorID = 9 }, false, "no such comment", false},
		"edited":                     {"by anyone who may write", func(_ *event.Comment, s *Said) { s.Edited = true }, false, "was edited", false},
		"of another text":            {"the event lies, or is older", func(_ *event.Comment, s *Said) { s.Body = "/postflight cancel" }, false, "was edited", false},
		"by a bot":                   {"it could answer itself", func(_ *event.Comment, s *Said) { s.Bot, s.MayWrite = true, false }, false, "by a bot", false},
		"old":                        {"it was delivered late", func(_ *event.Comment, s *Said) { s.CreatedAt = s.CreatedAt.Add(-2 * time.Hour) }, false, "an hour old", false},
		"by a stranger":              {"who learns that", func(_ *event.Comment, s *Said) { s.MayWrite = false }, false, "may write", true},
		"an edited one of strangers": {"there is nothing to answer", func(_ *event.Comment, s *Said) { s.MayWrite, s.Edited = false, true }, false, "was edited", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := event.Comment{Number: 5, ID: 7, Body: "/postflight rerun", Author: 8}
			said := &Said{Body: c.Body, Number: 5, AuthorID: 8, Author: "alice", CreatedAt: written, MayWrite: true}
			tc.change(&c, said)
			if tc.gone {
				said = nil
			}
			got := Problem(c, said, written.Add(time.Minute))
			if (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.says)
			}
			if got := IsStranger(c, said, written.Add(time.Minute)); got != tc.stranger {
				t.Errorf("%s: a stranger: %t", tc.reason, got)
			}
		})
	}
}

func TestAnswer(t *testing.T) {
	a, b := run("a"), run("b", of("e2e"), attempt(2))
	next := run("c", attempt(2), created(time.Minute)).Suite
	o := Observation{
		Command: Command{Verb: Rerun}, Said: Said{Author: "a\u202elice\x1b[31m", CreatedAt: written}, CommentID: 7,
		Target:      report.Target{Host: v1alpha1.GitHub, Repository: "acme/shop"},
		PullRequest: report.PullRequest{Number: 5, Open: true, Branch: "cart", SHA: head}, Runs: []report.Run{a, b},
	}
	outcomes := []Outcome{{Suite: a.Suite, Next: next}, {Suite: b.Suite, Problem: "another was deployed."}}
	reaction, answer := Answer(o, Decide(o), outcomes)
	want := report.Answer{Comment: 7, At: written,
		Text: "alice: smoke (staging) runs again, as attempt 2; e2e (staging) is unchanged: another was deployed."}
	if diff := cmp.Diff(want, answer); diff != "" || reaction != Done {
		t.Errorf("%s %s", reaction, diff)
	}
	if place := Place(o, outcomes); place != next {
		t.Errorf("kept on %v, want the next attempt", place)
	}
	a.Suite.Annotations = map[string]string{v1alpha1.AnnotationAnswer: answer.Annotation()}
	if place := Place(o, outcomes); place != nil {
		t.Errorf("kept again on %s", place.Name)
	}
	o.Command.Verb = Status
	if reaction, _ := Answer(o, Decide(o), nil); reaction != Seen {
		t.Error(reaction)
	}
	o.Command.Verb = Unknown
	if reaction, _ := Answer(o, Decide(o), nil); reaction != Confused {
		t.Error(reaction)
	}
}

func TestClose(t *testing.T) {
	target := report.Target{Host: v1alpha1.GitHub, Repository: "acme/shop"}
	p := report.PullRequest{Number: 5, Branch: "cart"}
	found := func(s *v1alpha1.Suite) {
		s.Status.Report = &v1alpha1.SuiteReport{PullRequest: &v1alpha1.PullRequestReport{Number: 5}}
	}
	in := func(name string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Spec.Environment = name }
	}
	named := Named([]report.Run{
		run("a", number(5), running), run("b", number(5), in("preview")), run("c", number(6), running), run("d", found, running),
		run("e", number(5), onBranch("main"), running, in("main")), run("f", number(5), onBranch(""), running),
		run("g", number(5), func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = strings.Repeat("b", 40) }),
	}, target, 5)
	got := Close(named, p)
	if names(named) != "a b e f g" || names(got.Cancel) != "a f" || strings.Join(got.Environments, " ") != "preview staging" {
		t.Errorf("named %s, cancels %s, ends %s", names(named), names(got.Cancel), got.Environments)
	}
	later := run("later", number(6), created(time.Minute)).Suite
	if !Owns(named, named[:1]) || Owns(named, []*v1alpha1.Suite{named[0], later}) || Owns(named, nil) {
		t.Error("the last deployment of an Environment decides whose it is")
	}
}
