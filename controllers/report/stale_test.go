package report_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	reportcontroller "github.com/postflight-dev/postflight/controllers/report"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
	"github.com/postflight-dev/postflight/test/world"
)

// slowHost answers the first check that it gets only when it is released, and refuses ends on demand.
type slowHost struct {
	reportcontroller.CodeHost
	asked    atomic.Bool
	began    chan struct{} // closed once the first check is shown
	deadline time.Time     // of that request
	released chan struct{}
	release  func()
	refuses  atomic.Bool
}

func (h *slowHost) Post(ctx context.Context, r report.Request) (v1alpha1.SuiteReport, error) {
	if r.Check.Phase == v1alpha1.ReportCompleted && h.refuses.Load() {
		return v1alpha1.SuiteReport{}, &report.Error{Kind: report.Rejected, Message: "GitHub is closed"}
	}
	shown, err := h.CodeHost.Post(ctx, r)
	if h.asked.CompareAndSwap(false, true) {
		h.deadline, _ = ctx.Deadline()
		close(h.began)
		<-h.released
	}
	return shown, err
}

// newSlowWorld has a run "first" that goes on, and whose check is shown, but the manager waits for the answer.
func newSlowWorld(t *testing.T) (*reportWorld, *slowHost, *link) {
	t.Helper()
	slow := &slowHost{began: make(chan struct{}), released: make(chan struct{})}
	slow.release = sync.OnceFunc(func() { close(slow.released) })
	var way *link
	w := newReportWorld(t, func(w *reportWorld) {
		way = newLink(w.ManagerConfig)
		host := w.CodeHosts.Hosts[v1alpha1.GitHub]
		slow.CodeHost, host.CodeHost = host.CodeHost, slow
		w.CodeHosts.Hosts[v1alpha1.GitHub] = host
	})
	t.Cleanup(func() { way.set(false, false); slow.release() })
	w.Start(build.Suite("first", 0, tests(build.Commit(1))))
	awaitClosed(t, slow.began)
	return w, slow, way
}

func awaitClosed(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(poll.Limit):
		t.Fatal("the manager did not ask")
	}
}

// looksAgain releases the answer about the first run while the cache stands still, which has its end and not what was
// posted. It ends when the manager has looked at the run, or cannot, because the cache lacks another write of its own. It
// reports whether the manager still had time to store the answer, or else the test has to begin anew.
func (w *reportWorld) looksAgain(slow *slowHost, way *link) (inTime bool) {
	w.T.Helper()
	w.Runs("second") // which was created after the end of the first
	way.set(true, false)
	slow.release()
	inTime = time.Until(slow.deadline) > 5*time.Second
	_ = poll.Wait(5*time.Second, "the manager looks again", func() string {
		if !way.read("first") {
			return "it does not"
		}
		return ""
	})
	way.set(false, false)
	return inTime
}

// inTime plays what happens while the manager waits for the answer, once more if that took too long on a slow machine.
func inTime(t *testing.T, play func(*reportWorld, *slowHost)) *reportWorld {
	t.Helper()
	for {
		w, slow, way := newSlowWorld(t)
		play(w, slow)
		if w.looksAgain(slow, way) {
			return w
		}
		w.Stop()
	}
}

// TestNewerAttemptInAStaleCache: a run ends, and a newer attempt begins, before the cache has the number of its check run.
// That is completed nevertheless.
func TestNewerAttemptInAStaleCache(t *testing.T) {
	tier.All(t, "a request in it has a deadline of its own")
	t.Parallel()
	w := inTime(t, func(w *reportWorld, _ *slowHost) {
		w.Cancel("first", "")
		w.Stops("first")
		w.Reaches("first", v1alpha1.ReasonCanceled, "")
		w.Create(build.Suite("second", 1, tests(build.Commit(1)), attempt(2)))
	})
	w.reports("first", v1alpha1.ReasonPosted, "shows the outcome")
	w.Eventually("only the second check run goes on", func() string {
		if runs := w.gitHub.CheckRuns(build.Commit(1)); runs["completed"] != 1 || runs["in_progress"] != 1 {
			return fmt.Sprint(runs)
		}
		return ""
	})
}

// TestFailureInAStaleCache: what was posted is not forgotten if the next post fails before the cache has it.
func TestFailureInAStaleCache(t *testing.T) {
	tier.All(t, "a request in it has a deadline of its own")
	t.Parallel()
	w := inTime(t, func(w *reportWorld, slow *slowHost) {
		slow.refuses.Store(true)
		w.Passes("first")
		w.Reaches("first", v1alpha1.ReasonPassed, "")
		w.Create(build.Suite("second", 1, build.OfTrigger("lab"), tests(build.Commit(2))))
	})
	s := w.reports("first", v1alpha1.ReasonReportFailed, "GitHub is closed")
	if r := s.Status.Report; r == nil || r.CheckID == 0 || r.Phase != v1alpha1.ReportInProgress {
		t.Errorf("the report is %+v", r)
	}
}

// TestNewerAttemptMeanwhile: a newer attempt begins while the manager prepares to post the end of the older one. What is
// not posted for that reason uses up nothing of the budget, half of which is for runs that go on.
func TestNewerAttemptMeanwhile(t *testing.T) {
	t.Parallel()
	var holds atomic.Bool
	arrived, released := make(chan struct{}), make(chan struct{})
	arrive, release := sync.OnceFunc(func() { close(arrived) }), sync.OnceFunc(func() { close(released) })
	w := newReportWorld(t, func(w *reportWorld) {
		w.ManagerConfig.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return world.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				if holds.Load() && strings.HasSuffix(r.URL.Path, "/secrets/github-token") {
					arrive()
					<-released
				}
				return next.RoundTrip(r)
			})
		})
		host := w.CodeHosts.Hosts[v1alpha1.GitHub]
		host.Limits = report.Limits{PerMinute: 4, PerHour: 4, InFlight: 4}
		w.CodeHosts.Hosts[v1alpha1.GitHub] = host
	})
	t.Cleanup(release)
	w.Start(build.Suite("first", 0, build.OfTrigger("token"), tests(build.Commit(1))))
	w.reports("first", v1alpha1.ReasonPending, "has not ended")
	holds.Store(true)
	w.Passes("first")
	awaitClosed(t, arrived)
	w.Create(build.Suite("second", 1, build.OfTrigger("token"), tests(build.Commit(1)), attempt(2)))
	w.HasJob("second")
	release()
	w.reports("first", v1alpha1.ReasonNewerAttempt, "second")
	w.Runs("second")
	w.reports("second", v1alpha1.ReasonPending, "has not ended")
}

// TestFormerLeader: a leader that could not reach the API server comes back and still sees runs that go on. By then,
// another leader has shown their ends. The former one posts nothing more.
func TestFormerLeader(t *testing.T) {
	t.Parallel()
	var former *link
	w := newReportWorld(t, func(w *reportWorld) {
		former = newLink(w.ManagerConfig)
		w.gitHub.Fail(&codehost.Fault{Status: 503})
		w.gitLab.Fail(&codehost.Fault{Status: 503})
	})
	all := map[string]string{"smoke": build.Commit(1), "token": build.Commit(2), "lab": build.Commit(3)} // by Trigger
	for trigger, sha := range all {
		w.Start(build.Suite(trigger, 0, build.OfTrigger(trigger), tests(sha)))
	}
	for trigger := range all {
		w.reports(trigger, v1alpha1.ReasonReportFailed, "failed (503)")
	}
	former.set(true, true)
	stopFormer := w.Stop
	w.ManagerConfig = w.Manager(t)
	w.StartManager()
	t.Cleanup(func() { former.set(false, false); stopFormer() })

	w.gitHub.Fail(nil)
	w.gitLab.Fail(nil)
	for trigger := range all {
		w.Passes(trigger)
		w.reports(trigger, v1alpha1.ReasonPosted, "")
	}
	before := len(w.gitHub.Writes()) + len(w.gitLab.Writes())
	former.set(true, false)
	for trigger := range all {
		poll.True(t, "the former leader looks at "+trigger, func() bool { return former.read(trigger) })
	}
	w.Stop()
	former.set(false, false)
	stopFormer()
	if after := len(w.gitHub.Writes()) + len(w.gitLab.Writes()); after != before {
		t.Errorf("the former leader has written %d times", after-before)
	}
	for trigger, host := range map[string]*codehost.Host{"smoke": w.gitHub, "token": w.gitHub, "lab": w.gitLab} {
		if states := host.States(all[trigger]); states[len(states)-1] != "success" || slices.Index(states, "success") != len(states)-1 {
			t.Errorf("%s shows %q", trigger, states)
		}
	}
}

// TestAnotherLeader: a leader that follows another one posts what is missing, and nothing twice.
func TestAnotherLeader(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t)
	for _, trigger := range []string{"smoke", "token", "lab"} {
		w.Start(build.Suite(trigger, 0, build.OfTrigger(trigger), tests(build.Commit(len(trigger)))))
	}
	w.reports("smoke", v1alpha1.ReasonPending, "has not ended")
	w.reports("token", v1alpha1.ReasonPending, "has not ended")
	w.reports("lab", v1alpha1.ReasonPending, "has not ended")
	w.Stop()
	w.StartManager()
	for _, trigger := range []string{"smoke", "token", "lab"} {
		w.Passes(trigger)
		w.reports(trigger, v1alpha1.ReasonPosted, "")
	}
	posted, last := map[string]bool{}, map[string]string{}
	for _, write := range append(w.gitHub.Writes(), w.gitLab.Writes()...) {
		text := write.Name + ": " + write.State + ", " + write.Description
		if posted[text] {
			t.Errorf("it was posted twice: %s", text)
		}
		posted[text], last[write.Name] = true, write.State
	}
	if len(last) != 3 || slices.ContainsFunc(slices.Collect(maps.Values(last)), func(state string) bool { return state != "success" }) {
		t.Errorf("the last states are %v", last)
	}
}
