package report_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/tier"
)

// words are how a host names the states of a run.
type words struct{ queued, running, passed, failed, timedOut, canceled string }

// sequences plays courses of runs of one Trigger, and counts what its host has to get.
type sequences struct {
	*reportWorld
	words
	host          *codehost.Host
	trigger       string
	writes, total int // total of the runs
}

// TestSequences plays every course of a run with each kind of credentials, or in the gate each course with one of them. The
// hosts get exactly the calls for it.
func TestSequences(t *testing.T) {
	t.Parallel()
	app, token, lab := words{"queued", "in_progress", "success", "failure", "timed_out", "cancelled"},
		words{"pending", "pending", "success", "failure", "failure", "error"},
		words{"pending", "running", "success", "failed", "failed", "canceled"}
	const repo, project = "/repos/acme/shop", "/api/v4/projects/group%2Fsub%2Fproject"
	for trigger, tc := range map[string]struct {
		index int // among the kinds
		words words
		calls func(runs, writes int) map[string]int
	}{
		"smoke": {0, app, func(runs, writes int) map[string]int {
			return map[string]int{
				"GET " + repo + "/installation": 1, fmt.Sprintf("POST /app/installations/%d/access_tokens", codehost.InstallationID): 1,
				"GET " + repo + "/commits/SHA/check-runs": runs, "POST " + repo + "/check-runs": runs, "PATCH " + repo + "/check-runs/ID": writes - runs,
			}
		}},
		"token": {1, token, func(_, writes int) map[string]int { return map[string]int{"POST " + repo + "/statuses/SHA": writes} }},
		"lab":   {2, lab, func(_, writes int) map[string]int { return map[string]int{"POST " + project + "/statuses/SHA": writes} }},
	} {
		t.Run(trigger, func(t *testing.T) {
			t.Parallel()
			s := &sequences{reportWorld: newReportWorld(t, beganEarly), words: tc.words, trigger: trigger}
			s.host = s.gitHub
			other := s.gitLab
			if trigger == "lab" {
				s.host, other = s.gitLab, s.gitHub
			}
			for i, course := range s.courses() {
				if !tier.Gate() || i%3 == tc.index {
					course()
				}
			}
			if diff := cmp.Diff(tc.calls(s.total, s.writes), calls(s.host)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got := other.Requests(); len(got) > 0 {
				t.Errorf("the other host got %q", got)
			}
		})
	}
}

// lag is by how much the clock of the manager is late, so that it knows that it was the leader before each run was created. It
// asks the host whether an earlier leader has reported the others.
const lag = time.Minute

func beganEarly(w *reportWorld) { w.Clock.MoveOn(-lag) }

// courses are independent of each other, but the last one moves the clock.
func (s *sequences) courses() []func() {
	return []func(){s.pass, s.fail, s.withdraw, s.supersede, s.queue, s.again, s.slow}
}

func (s *sequences) pass() {
	s.begin("pass", "1")
	s.Passes("pass")
	s.shown("pass", "1", s.running, s.passed)
}

func (s *sequences) fail() {
	s.begin("fail", "2")
	s.Exits("fail", 1)
	s.shown("fail", "2", s.running, s.failed)
}

func (s *sequences) withdraw() {
	s.begin("cancel", "3")
	s.Cancel("cancel", "jo")
	s.Stops("cancel")
	s.shown("cancel", "3", s.running, s.canceled)
}

func (s *sequences) supersede() {
	s.begin("supersede", "4", build.Keyed("stream"))
	s.place("newer", "5", build.Keyed("stream"))
	s.Stops("supersede")
	s.shown("supersede", "4", s.running, s.canceled)
	s.Runs("newer")
	s.Passes("newer")
	s.shown("newer", "5", s.running, s.passed)
}

func (s *sequences) again() {
	s.begin("once", "9")
	s.Passes("once")
	s.shown("once", "9", s.running, s.passed)
	s.begin("again", "9", attempt(2))
	s.Exits("again", 1)
	s.shown("again", "9", s.running, s.passed, s.running, s.failed)
	s.writes -= 2 // counted before
}

func (s *sequences) slow() {
	s.begin("slow", "8")
	s.Clock.MoveOn(lag + 31*time.Minute)
	s.Touch("slow")
	s.Stops("slow")
	s.Reaches("slow", v1alpha1.ReasonTimedOut, "")
	s.shown("slow", "8", s.running, s.timedOut)
}

// queue has a run wait behind another one. A run that starts at once is never shown as queued.
func (s *sequences) queue() {
	s.patchTrigger(s.trigger, func(t *v1alpha1.Trigger) { t.Spec.MaxConcurrentSuites = 1 })
	const while = lag + 10*time.Second // in the queue until its host says so
	s.begin("first", "6")
	s.Clock.MoveOn(while)
	s.place("second", "7")
	s.Reaches("second", v1alpha1.ReasonQueued, "")
	s.shows(s.host, digits("7"), s.queued)
	s.Clock.MoveOn(-while)
	s.Passes("first")
	s.shown("first", "6", s.running, s.passed)
	s.Runs("second")
	s.shows(s.host, digits("7"), s.queued, s.running)
	s.Passes("second")
	s.shown("second", "7", s.queued, s.running, s.passed)
	s.patchTrigger(s.trigger, func(t *v1alpha1.Trigger) { t.Spec.MaxConcurrentSuites = 0 })
}

func digits(digit string) string { return build.Commit(int(digit[0] - '0')) }

// begin starts a run of a commit, and waits until its host says so.
func (s *sequences) begin(name, digit string, change ...func(*v1alpha1.Suite)) {
	s.T.Helper()
	before := len(s.host.States(digits(digit)))
	s.place(name, digit, change...)
	s.Runs(name)
	s.Eventually(name+" is shown", func() string {
		if len(s.host.States(digits(digit))) == before {
			return "it is not"
		}
		return ""
	})
}

func (s *sequences) place(name, digit string, change ...func(*v1alpha1.Suite)) {
	s.T.Helper()
	s.Create(build.Suite(name, s.total, append(change, build.OfTrigger(s.trigger), tests(digits(digit)))...))
	s.total++
}

// shown waits for the end of a run on its host.
func (s *sequences) shown(name, digit string, states ...string) {
	s.T.Helper()
	s.reports(name, v1alpha1.ReasonPosted, "shows the outcome")
	if diff := cmp.Diff(states, s.host.States(digits(digit))); diff != "" {
		s.T.Errorf("%s (-want +got):\n%s", name, diff)
	}
	s.writes += len(states)
}

var (
	shaInPath   = regexp.MustCompile(`/[0-9a-f]{40}`)
	checkInPath = regexp.MustCompile(`/check-runs/\d+`)
)

// calls counts the requests that a host got.
func calls(h *codehost.Host) map[string]int {
	counts := map[string]int{}
	for _, request := range h.Requests() {
		counts[checkInPath.ReplaceAllString(shaInPath.ReplaceAllString(request, "/SHA"), "/check-runs/ID")]++
	}
	return counts
}
