package announce_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
)

// failing is a change of a run that tested 40, and in which these failed: New, unless the name begins with "known ".
func failing(names ...string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		r := &v1alpha1.TestResults{Tests: 40, Failed: int32(len(names)), OnlyTestsFailed: s.State() == v1alpha1.ReasonFailed}
		for _, name := range names {
			f := v1alpha1.TestFailure{Name: name, History: v1alpha1.FailureNew}
			if test, known := strings.CutPrefix(name, "known "); known {
				f = v1alpha1.TestFailure{Name: test, History: v1alpha1.FailureKnown}
			}
			if test, quarantined := strings.CutPrefix(f.Name, "quarantined "); quarantined {
				f.Name, f.Quarantine = test, "slow"
			}
			r.Failures = append(r.Failures, f)
		}
		s.Status.Results = r
	}
}

func onlyFailedOf(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.OnlyFailedOf = &v1alpha1.RunReference{Name: name, UID: "u1"} }
}

func more(change func(r *v1alpha1.TestResults)) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { change(s.Status.Results) }
}

// opened are the threads that a run opens, which ended a number of minutes after noon.
func opened(t *testing.T, run *v1alpha1.Suite) (all []v1alpha1.TestThread) {
	t.Helper()
	o := announce.Observation{Suite: run}
	for action := o.NextThread(channel()); action != nil; action = o.NextThread(channel()) {
		action.Thread.TS = "1.1"
		o.Threads = announce.WithThread(o.Threads, action.Thread)
	}
	return o.Threads
}

func channel(when ...v1alpha1.NotifyWhen) announce.Receiver {
	if len(when) == 0 {
		when = []v1alpha1.NotifyWhen{v1alpha1.NotifyNewFailure, v1alpha1.NotifyRecovery}
	}
	trigger := aTrigger(when...)
	trigger.Spec.Notify.Slack.Channel = "C0123ABCD"
	return announce.Receivers(nil, trigger)[0]
}

// TestThreadDecisions: what a run does with threads, whatever runs there are before, after and beside it.
func TestThreadDecisions(t *testing.T) {
	first := ended("first", "Failed", 1, failing("login"))
	open := opened(t, first)
	pending, closing := []v1alpha1.TestThread{open[0]}, []v1alpha1.TestThread{open[0]}
	pending[0].TS, closing[0].ClosedBy = "", "gone"
	for name, tc := range map[string]struct {
		run     *v1alpha1.Suite
		others  []*v1alpha1.Suite
		threads []v1alpha1.TestThread
		want    string
	}{
		"the first failure": {run: first, want: "open login"},
		"it fails again":    {run: ended("b", "Failed", 2, failing("known login")), threads: open, want: "nothing"},
		"it fails again, and nothing is known of it": {run: ended("b", "Failed", 2, failing("login")), threads: open, want: "nothing"},
		"it was known before there was a channel":    {run: ended("b", "Failed", 2, failing("known login")), want: "summary"},
		"another test fails":                         {run: ended("b", "Failed", 2, failing("cart", "known login")), threads: open, want: "open cart"},
		"another test passes":                        {run: ended("b", "Failed", 2, failing("cart")), threads: open, want: "close login"},
		"it passes":                                  {run: ended("b", "Passed", 2, failing()), threads: open, want: "close login"},
		"it passes in another Environment":           {run: ended("b", "Passed", 2, failing(), in("production")), threads: open, want: "nothing"},
		"it passes in another service":               {run: ended("b", "Passed", 2, failing(), ofService("cart")), threads: open, want: "nothing"},
		"it fails in another service":                {run: ended("b", "Failed", 2, failing("login"), ofService("cart")), threads: open, want: "open login"},
		"it is quarantined, and fails":               {run: ended("b", "Passed", 2, failing("quarantined login")), threads: open, want: "nothing"},
		"it fails first in a Quarantine":             {run: ended("b", "Passed", 2, failing("quarantined login")), want: "nothing"},
		"the run was superseded":                     {run: ended("b", "Superseded", 2, failing()), threads: open, want: "nothing"},
		"the run is Inconclusive":                    {run: ended("b", "Inconclusive", 2, failing()), threads: open, want: "nothing"},
		"the run was canceled":                       {run: ended("b", "Canceled", 2, failing("cart")), threads: open, want: "nothing"},
		"the run is retried":                         {run: ended("b", "Error", 2, failing("cart"), isRetried), threads: open, want: "nothing"},
		"it ended for another reason":                {run: ended("b", "Error", 2, failing("cart"), more(func(r *v1alpha1.TestResults) { r.OnlyTestsFailed = false })), threads: open, want: "open cart"},
		"it timed out, and nothing new failed":       {run: ended("b", "TimedOut", 2, failing()), threads: open, want: "summary"},
		"it has no results":                          {run: ended("b", "Passed", 2), threads: open, want: "nothing"},
		"it ran no test":                             {run: ended("b", "Passed", 2, failing(), more(func(r *v1alpha1.TestResults) { r.Tests = 0 })), threads: open, want: "nothing"},
		"it ran far fewer tests":                     {run: ended("b", "Passed", 2, failing(), more(func(r *v1alpha1.TestResults) { r.Expected = 400 })), threads: open, want: "nothing"},
		"it lists only some failures":                {run: ended("b", "Failed", 2, failing("known cart"), more(func(r *v1alpha1.TestResults) { r.Failed = 30 })), threads: open, want: "nothing"},
		"a rerun of it passes":                       {run: ended("b", "Passed", 2, failing(), onlyFailedOf("first")), others: []*v1alpha1.Suite{first}, threads: open, want: "close login"},
		"a rerun without it passes":                  {run: ended("b", "Passed", 2, failing(), onlyFailedOf("a")), others: []*v1alpha1.Suite{ended("a", "Failed", 0, failing("cart"))}, threads: open, want: "nothing"},
		"a rerun of a deleted run passes":            {run: ended("b", "Passed", 2, failing(), onlyFailedOf("first")), threads: open, want: "nothing"},
		"a run from before passes":                   {run: ended("b", "Passed", 0, failing()), others: []*v1alpha1.Suite{first}, threads: open, want: "nothing"},
		"it passed, and fails since":                 {run: ended("b", "Passed", 2, failing()), others: []*v1alpha1.Suite{ended("c", "Failed", 3, failing("login"))}, threads: open, want: "nothing"},
		"it failed, and passes since":                {run: first, others: []*v1alpha1.Suite{ended("c", "Passed", 3, failing())}, want: "nothing"},
		"it failed, and another run was canceled":    {run: first, others: []*v1alpha1.Suite{ended("c", "Canceled", 3, failing())}, want: "open login"},
		"the manager was killed while it opened it":  {run: first, threads: pending, want: "open login, unsure"},
		"it was never opened, and passes":            {run: ended("b", "Passed", 2, failing()), threads: pending, want: "close login, unsure"},
		"the manager was killed while it closed it":  {run: ended("c", "Failed", 3, failing("login")), threads: closing, want: "close login, unsure"},
	} {
		t.Run(name, func(t *testing.T) {
			previous := "Failed"
			if tc.threads == nil {
				previous = "Passed"
			}
			o := announce.Observation{Suite: tc.run, Runs: append(tc.others, tc.run), Threads: tc.threads, Previous: previous}
			if tc.run.State() == "TimedOut" || tc.run.State() == "Passed" {
				o.Previous = "Passed"
			}
			if got := sayThread(o); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func sayThread(o announce.Observation) string {
	action := o.NextThread(channel())
	switch {
	case action == nil && o.Summarized(channel()):
		return "summary"
	case action == nil:
		return "nothing"
	}
	text := "close "
	if action.Failure != nil {
		text = "open "
	}
	text += action.Thread.Test
	if action.Unsure {
		text += ", unsure"
	}
	return text
}

// TestThreadsAreBounded: a run opens five, its message has the other tests, and a Trigger keeps fifty.
func TestThreadsAreBounded(t *testing.T) {
	run := ended("first", "Failed", 1, failing("a", "b", "c", "d", "e", "f", "g"))
	o := announce.Observation{Suite: run, Threads: opened(t, run)}
	if !o.Summarized(channel()) || len(o.Threads) != 5 {
		t.Fatalf("there are %d threads, and a summary is %t", len(o.Threads), o.Summarized(channel()))
	}
	var names []string
	for _, f := range o.Summary().Status.Results.Failures {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, ""); got != "fg" || len(run.Status.Results.Failures) != 7 {
		t.Errorf("the summary has %q", got)
	}
	var all []v1alpha1.TestThread
	for i := range 60 {
		all = announce.WithThread(all, v1alpha1.TestThread{ID: fmt.Sprint(i), Since: at(i)})
	}
	if len(all) != 50 || all[0].ID != "10" {
		t.Errorf("%d are kept, from %s", len(all), all[0].ID)
	}
}

// TestThreadTextIsData: names and messages of tests mention and link nothing.
func TestThreadTextIsData(t *testing.T) {
	run := ended("first", "Failed", 1, failing("<!channel> <https://evil.example|login> `@here`\u202e\x1b[31m\nx"))
	run.UID = types.UID("u9")
	run.Status.Results.Failures[0].Message = "</code> <@U123> *bold* & <!everyone>"
	thread := opened(t, run)[0]
	c := announce.Conversation{Trigger: "t", Run: run, Options: report.Options{PublicURL: "https://ci.example.com"}}
	thread.ClosedBy = "first"
	root, reply := c.Close(thread)
	for _, m := range []announce.Message{c.Open(thread, run.Status.Results.Failures[0]), root, reply} {
		text := strings.NewReplacer("\\u003c", "<", "\\u003e", ">", "\\u0026", "&").Replace(string(m.Body))
		for _, bad := range []string{"<!", "<@", "<https://evil", "`@", "\u202e", "\\u001b", "@here", "@U123"} {
			if strings.Contains(text, bad) {
				t.Errorf("%q is in %s", bad, text)
			}
		}
	}
}
