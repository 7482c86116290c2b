package controllers_test

import (
	"maps"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/codehost"
)

// words are how a host names the states of a run.
type words struct{ queued, running, passed, failed, timedOut, canceled string }

// sequences plays courses of runs of one Trigger, and counts what its host has to get.
type sequences struct {
	*reportWorld
	words
	host          *codehost.Host
	trigger       string
	writes, total int            // total of the runs
	before        map[string]int // calls for a run that does not count
}

// TestSequences plays every course of a run with each kind of credentials. The hosts get exactly the calls for it.
func TestSequences(t *testing.T) {
	t.Parallel()
	app, token, lab := words{"queued", "in_progress", "success", "failure", "timed_out", "cancelled"},
		words{"pending", "pending", "success", "failure", "failure", "error"},
		words{"pending", "running", "success", "failed", "failed", "canceled"}
	const repo, project = "/repos/acme/shop", "/api/v4/projects/group%2Fsub%2Fproject"
	for trigger, tc := range map[string]struct {
		words words
		calls func(runs, writes int) map[string]int
	}{
		"smoke": {app, func(runs, writes int) map[string]int {
			return map[string]int{
				"GET " + repo + "/commits/SHA/check-runs": runs, "POST " + repo + "/check-runs": runs, "PATCH " + repo + "/check-runs/ID": writes - runs,
			}
		}},
		"token": {token, func(_, writes int) map[string]int { return map[string]int{"POST " + repo + "/statuses/SHA": writes} }},
		"lab":   {lab, func(_, writes int) map[string]int { return map[string]int{"POST " + project + "/statuses/SHA": writes} }},
	} {
		t.Run(trigger, func(t *testing.T) {
			t.Parallel()
			s := &sequences{reportWorld: newReportWorld(t), words: tc.words, trigger: trigger}
			s.host = s.gitHub
			other := s.gitLab
			if trigger == "lab" {
				s.host, other = s.gitLab, s.gitHub
			}
			s.play()
			got := calls(s.host)
			maps.DeleteFunc(got, func(call string, n int) bool {
				got[call] = n - s.before[call]
				return got[call] == 0
			})
			if diff := cmp.Diff(tc.calls(s.total, s.writes), got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got := other.Requests(); len(got) > 0 {
				t.Errorf("the other host got %q", got)
			}
		})
	}
}

// warmUp has a run that is of the second in which the manager began, which has to look what its host shows. With an App,
// the first run also gets its token.
func (s *sequences) warmUp() {
	s.begin("warm-up", "0")
	s.passes("warm-up")
	s.shown("warm-up", "0", s.running, s.passed)
	time.Sleep(time.Second)
	s.before, s.writes, s.total = calls(s.host), 0, 0
}

func (s *sequences) play() {
	s.warmUp()
	s.begin("pass", "1")
	s.passes("pass")
	s.shown("pass", "1", s.running, s.passed)

	s.begin("fail", "2")
	s.exits("fail", 1)
	s.shown("fail", "2", s.running, s.failed)

	s.begin("cancel", "3")
	s.cancel("cancel", "jo")
	s.stops("cancel")
	s.shown("cancel", "3", s.running, s.canceled)

	s.begin("supersede", "4", keyed("stream"))
	s.place("newer", "5", keyed("stream"))
	s.stops("supersede")
	s.shown("supersede", "4", s.running, s.canceled)
	s.runs("newer")
	s.passes("newer")
	s.shown("newer", "5", s.running, s.passed)

	s.queue()

	s.begin("again", "1", attempt(2)) // of the commit that has passed
	s.exits("again", 1)
	s.shown("again", "1", s.running, s.passed, s.running, s.failed)
	s.writes -= 2 // counted before

	s.begin("slow", "8") // the last one, because it moves the clock
	s.clock.moveOn(31 * time.Minute)
	s.touch("slow")
	s.stops("slow")
	s.reaches("slow", v1alpha1.ReasonTimedOut, "")
	s.shown("slow", "8", s.running, s.timedOut)
}

// queue has a run wait behind another one. A run that starts at once is never shown as queued.
func (s *sequences) queue() {
	s.patchTrigger(s.trigger, func(t *v1alpha1.Trigger) { t.Spec.MaxConcurrentSuites = 1 })
	s.begin("first", "6")
	s.place("second", "7")
	s.reaches("second", v1alpha1.ReasonQueued, "")
	s.shows(s.host, digits("7"), s.queued)
	s.passes("first")
	s.shown("first", "6", s.running, s.passed)
	s.runs("second")
	s.shows(s.host, digits("7"), s.queued, s.running)
	s.passes("second")
	s.shown("second", "7", s.queued, s.running, s.passed)
	s.patchTrigger(s.trigger, func(t *v1alpha1.Trigger) { t.Spec.MaxConcurrentSuites = 0 })
}

func digits(digit string) string { return commit(int(digit[0] - '0')) }

// begin starts a run of a commit, and waits until its host says so.
func (s *sequences) begin(name, digit string, change ...func(*v1alpha1.Suite)) {
	s.t.Helper()
	before := len(s.host.States(digits(digit)))
	s.place(name, digit, change...)
	s.runs(name)
	s.eventually(name+" is shown", func() string {
		if len(s.host.States(digits(digit))) == before {
			return "it is not"
		}
		return ""
	})
}

func (s *sequences) place(name, digit string, change ...func(*v1alpha1.Suite)) {
	s.t.Helper()
	s.create(aSuite(name, s.total, append(change, of(s.trigger), tests(digits(digit)))...))
	s.total++
}

// shown waits for the end of a run on its host.
func (s *sequences) shown(name, digit string, states ...string) {
	s.t.Helper()
	s.reports(name, v1alpha1.ReasonPosted, "shows the outcome")
	if diff := cmp.Diff(states, s.host.States(digits(digit))); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", name, diff)
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
