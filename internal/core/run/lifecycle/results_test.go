package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// threeFailed of 120 tests, and 2 files.
func threeFailed() *results.Collected {
	return &results.Collected{Summary: results.Summary{
		Counts: results.Counts{Reports: 1, Tests: 120, Passed: 117, Failed: 3, ComparedWith: "smoke-0", NewFailures: 1},
		Files:  2, Bytes: 30,
		Failures: []v1alpha1.TestFailure{{Name: "pays with card", History: v1alpha1.FailureNew}, {Name: "b"}, {Name: "c"}},
	}}
}

// TestEndsWithResults: every message of an end says how many tests failed, and the status has the counts.
func TestEndsWithResults(t *testing.T) {
	const counts = "3 of 120 tests failed, 1 of them new, the first: pays with card. "
	for name, tc := range map[string]struct {
		reason string
		change func(*lifecycle.Observation)
		want   metav1.Condition
	}{
		"Failed":     {"the tests", func(o *lifecycle.Observation) { o.Condition = v1alpha1.Failed("Exited.") }, v1alpha1.Failed(counts + "Exited.")},
		"Passed":     {"the exit code decides", func(o *lifecycle.Observation) { o.Condition = v1alpha1.Passed("The run passed.") }, v1alpha1.Passed(counts + "The run passed.")},
		"Judged":     {"it says how many failed", func(o *lifecycle.Observation) { o.Condition, o.Judged = v1alpha1.Failed("3 failed."), true }, v1alpha1.Failed("3 failed.")},
		"Canceled":   {"a stopped run keeps its report", func(o *lifecycle.Observation) { o.Suite.Spec.Cancel, o.Condition = true, v1alpha1.Failed("143") }, v1alpha1.Failed(counts + "143")},
		"Superseded": {"a stopped run keeps its report", func(o *lifecycle.Observation) { stoppedFor(o); o.Stream = []*v1alpha1.Suite{aSuite("newer", 9)} }, v1alpha1.Superseded(counts + "Superseded by newer, a newer deployment of the same stream.")},
		"TimedOut":   {"a stopped run keeps its report", func(o *lifecycle.Observation) { stoppedFor(o); o.Started = t0.Add(-time.Hour) }, v1alpha1.TimedOut(counts + "The run took longer than its timeout of 30m and was stopped.")},
		"Lost":       {"its node is gone", func(o *lifecycle.Observation) { o.Stopping.Lost = "Lost." }, v1alpha1.Error(counts + "Lost.")},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{
				Suite:      aSuite("self", 0),
				Definition: defined(aTrigger(), nil),
				Job:        aJob("self"),
				State:      outcome.State{Condition: v1alpha1.Running(""), Collected: threeFailed()},
				JobInfo:    lifecycle.JobInfo{KeepsResults: true},
			}
			tc.change(&o)
			d := decide(o, t0)
			if diff := cmp.Diff(tc.want, d.Condition); diff != "" {
				t.Fatalf("%s\n%s", tc.reason, diff)
			}
			s := o.Suite.DeepCopy()
			lifecycle.SetStatus(s, o, d, t0)
			if s.Status.Results == nil || s.Status.Results.Failed != 3 || s.Status.Results.Failures[0].Name != "pays with card" {
				t.Errorf("status.results: %+v", s.Status.Results)
			}
			want := &v1alpha1.Artifacts{Count: 2, Bytes: 30, Prefix: "demo/postflight-runs/day=2026-11-20/T180000Z-self/artifacts/"}
			if diff := cmp.Diff(want, s.Status.Artifacts); diff != "" {
				t.Error(diff)
			}
			if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionResultsCollected) {
				t.Errorf("conditions: %+v", s.Status.Conditions)
			}
			was := s.DeepCopy()
			lifecycle.SetStatus(s, o, decide(lifecycle.Observation{Suite: s, State: outcome.State{Collected: &results.Collected{}}}, t0), t0)
			if diff := cmp.Diff(was, s); diff != "" {
				t.Errorf("a finished run changed:\n%s", diff)
			}
		})
	}
}

// stoppedFor is a run whose pods were stopped, so that its Job failed.
func stoppedFor(o *lifecycle.Observation) {
	o.Condition = v1alpha1.Failed("143")
	o.Stopping = lifecycle.Stopping{Requested: t0.Add(-time.Minute), Since: t0.Add(-time.Minute)}
}

func TestStatusWithoutReports(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*lifecycle.Observation)
		want   string // the reason of the condition; empty: there is none
	}{
		"NoResults":  {"the Trigger wants none", func(o *lifecycle.Observation) { o.KeepsResults = false }, ""},
		"NotStarted": {"there is nothing to lose", func(o *lifecycle.Observation) { o.Started, o.Job = time.Time{}, nil; o.Suite.Spec.Cancel = true }, ""},
		"PodsGone":   {"what they reported is lost", func(*lifecycle.Observation) {}, v1alpha1.ReasonResultsIncomplete},
		"NoStore":    {"nothing is kept", func(o *lifecycle.Observation) { o.Collected = &results.Collected{NoStore: true} }, v1alpha1.ReasonStoreNotConfigured},
		"NoReport":   {"files, and none of them JUnit", func(o *lifecycle.Observation) { o.Collected = &results.Collected{Summary: results.Summary{Files: 1}} }, v1alpha1.ReasonResultsCollected},
		"NoTeam":     {"where the files are depends on it", func(o *lifecycle.Observation) { o.Team, o.Collected = nil, threeFailed() }, v1alpha1.ReasonResultsCollected},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{
				Suite:      aSuite("self", 0),
				Definition: defined(aTrigger(), nil),
				Job:        aJob("self"),
				State:      outcome.State{Condition: v1alpha1.Failed("Exited."), Started: t0},
				JobInfo:    lifecycle.JobInfo{KeepsResults: true},
			}
			tc.change(&o)
			s := o.Suite.DeepCopy()
			lifecycle.SetStatus(s, o, decide(o, t0), t0)
			reason := ""
			if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionResultsCollected); c != nil {
				reason = c.Reason
			}
			if !s.Finished() || reason != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, reason, tc.want)
			}
			if hasFiles := s.Status.Artifacts != nil; hasFiles != (name == "NoReport") {
				t.Errorf("status.artifacts: %+v", s.Status.Artifacts)
			}
		})
	}
}

// TestCollectingIsNotOverdue: tests that ended in time did not time out, however long the upload of their files takes,
// within the grace period that the kubelet gives it.
func TestCollectingIsNotOverdue(t *testing.T) {
	const limit, grace = 10 * time.Minute, time.Minute
	for name, tc := range map[string]struct {
		reason     string
		ended, now time.Duration // since the start; 0: the tests go on
		want       string
	}{
		"InTime":     {"the upload takes longer", limit - time.Second, limit + 30*time.Second, v1alpha1.ReasonRunning},
		"GoesOn":     {"the tests", 0, limit, v1alpha1.ReasonTimedOut},
		"TooLate":    {"they ended after their time", limit + 2*time.Second, limit + 3*time.Second, v1alpha1.ReasonTimedOut},
		"NeverStops": {"the node does not stop the pod", limit - time.Second, limit + 3*grace, v1alpha1.ReasonTimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{
				Suite:      aSuite("self", 0),
				Definition: defined(aTrigger(), nil),
				Job:        goingJob("self"),
				State:      outcome.State{Condition: v1alpha1.Running("Collecting."), Started: t0},
				JobInfo:    lifecycle.JobInfo{TimeLimit: limit},
				Stopping:   lifecycle.Stopping{Grace: grace, Done: true},
			}
			if tc.ended != 0 {
				o.TestsEnded = t0.Add(tc.ended)
			}
			if got := decide(o, t0.Add(tc.now)); got.Condition.Reason != tc.want {
				t.Errorf("%s: %+v, want %s", tc.reason, got, tc.want)
			}
			if !lifecycle.TimeIsUp(o, t0.Add(tc.now)) || lifecycle.TimeIsUp(o, t0.Add(limit-1)) {
				t.Error("the time is up after the limit, and not before")
			}
		})
	}
}

// TestDecidedBy: what decided is kept of a run that passed or failed, and not of one that was stopped meanwhile.
func TestDecidedBy(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*lifecycle.Observation)
		want   v1alpha1.DecidedBy
	}{
		"Passed":   {"its tests decided", func(o *lifecycle.Observation) { o.Condition = v1alpha1.Passed("") }, v1alpha1.DecidedByTests},
		"Failed":   {"its tests decided", func(o *lifecycle.Observation) { o.Condition = v1alpha1.Failed("") }, v1alpha1.DecidedByTests},
		"TimedOut": {"its time limit decided", func(o *lifecycle.Observation) { stoppedFor(o); o.Started = t0.Add(-time.Hour) }, ""},
		"Error":    {"nothing decided", func(o *lifecycle.Observation) { o.Condition = v1alpha1.Error("") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{Suite: aSuite("self", 0), Definition: defined(aTrigger(), nil), Job: aJob("self"), State: outcome.State{DecidedBy: v1alpha1.DecidedByTests}}
			tc.change(&o)
			s := o.Suite.DeepCopy()
			lifecycle.SetStatus(s, o, decide(o, t0), t0)
			if !s.Finished() || s.Status.DecidedBy != tc.want {
				t.Errorf("%s: %s by %q, want %q", tc.reason, s.State(), s.Status.DecidedBy, tc.want)
			}
		})
	}
}

// TestFewerTests: a run that passes with far fewer tests than the last comparable one says so, or fails.
func TestFewerTests(t *testing.T) {
	const only, selected = " Only %d tests ran; in a, the run that passed before, 100 did.", " If that is wrong, check which tests are selected."
	ran := func(name string, minute int, end metav1.Condition, tests, skipped int32, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
		s := aSuite(name, minute)
		for _, c := range change {
			c(s)
		}
		o := lifecycle.Observation{Suite: s, State: outcome.State{Collected: &results.Collected{Summary: results.Summary{Counts: results.Counts{Reports: 1, Tests: tests + skipped, Passed: tests, Skipped: skipped}}}}}
		lifecycle.SetStatus(s, o, lifecycle.Decision{Condition: end}, t0.Add(time.Duration(minute)*time.Minute))
		return s
	}
	passed, fail := v1alpha1.Passed(""), v1alpha1.FewerTestsFail
	hundred := []*v1alpha1.Suite{ran("a", 1, passed, 100, 0)}
	for name, tc := range map[string]struct {
		reason string
		fewer  results.Fewer
		before []*v1alpha1.Suite
		ran    int32
		want   string // "": nothing is said
		fails  bool
	}{
		"First":   {"there is nothing to compare with", results.Fewer{Policy: fail}, nil, 1, "", false},
		"AsMany":  {"nothing is missing", results.Fewer{}, hundred, 100, "", false},
		"Few":     {"tests come and go", results.Fewer{}, hundred, 81, "", false},
		"AFifth":  {"a filter may be wrong", results.Fewer{}, hundred, 80, only + selected, false},
		"Skipped": {"they did not run before either", results.Fewer{}, []*v1alpha1.Suite{ran("a", 1, passed, 10, 90)}, 10, "", false},
		"Last":    {"an older one does not count", results.Fewer{}, []*v1alpha1.Suite{ran("b", 2, passed, 50, 0), ran("a", 1, passed, 100, 0)}, 50, "", false},
		"Failed":  {"only what passed counts", results.Fewer{}, []*v1alpha1.Suite{ran("b", 2, v1alpha1.Failed(""), 50, 0), ran("a", 1, passed, 100, 0)}, 50, only + selected, false},
		"Itself":  {"it is no other run", results.Fewer{}, []*v1alpha1.Suite{ran("self", 2, passed, 100, 0)}, 50, "", false},
		"Decides": {"the Trigger says so", results.Fewer{Policy: fail}, hundred, 80, only + selected, true},
		"Share":   {"the Trigger says how many", results.Fewer{Percent: 50}, hundred, 51, "", false},
		"Half":    {"the Trigger says how many", results.Fewer{Policy: fail, Percent: 50}, hundred, 50, only + selected, true},
		"One":     {"the Trigger says how many", results.Fewer{Policy: fail, Percent: 1}, hundred, 99, only + selected, true},
		"Elsewhere": {"another Environment has other tests", results.Fewer{Policy: fail}, []*v1alpha1.Suite{ran("a", 1, passed, 100, 0, func(s *v1alpha1.Suite) {
			s.Spec.Environment = "another"
		})}, 1, "", false},
		"Variables": {"they may select the tests", results.Fewer{Policy: fail}, []*v1alpha1.Suite{ran("a", 1, passed, 100, 0, func(s *v1alpha1.Suite) {
			s.Annotations = map[string]string{v1alpha1.AnnotationVariablesDigest: suite.VariablesDigest(map[string]string{"TAGS": "smoke"})}
		})}, 1, "", false},
		"Trigger": {"it was recreated", results.Fewer{Policy: fail}, []*v1alpha1.Suite{ran("a", 1, passed, 100, 0, func(s *v1alpha1.Suite) {
			s.Spec.Trigger.UID = "another"
		})}, 1, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{
				Suite:      aSuite("self", 0),
				Definition: defined(aTrigger(), nil),
				Job:        aJob("self"),
				State:      outcome.State{Condition: v1alpha1.Passed("The run passed."), DecidedBy: v1alpha1.DecidedByTests, Collected: &results.Collected{Summary: results.Summary{Counts: results.Counts{Reports: 1, Tests: tc.ran, Passed: tc.ran}}}},
				JobInfo:    lifecycle.JobInfo{Required: results.Requirement{Fewer: tc.fewer}},
			}
			o.PassedBefore = suite.LastPassed(o.Suite, tc.before)
			d := decide(o, t0)
			want := strings.Replace(tc.want, "%d", fmt.Sprint(tc.ran), 1)
			if tc.fails {
				want += " If fewer are intended, set it to Report for one run."
			}
			says := strings.Contains(d.Condition.Message, " Only ")
			if says != (want != "") || !strings.HasSuffix(d.Condition.Message, want) || (d.Condition.Reason == v1alpha1.ReasonFailed) != tc.fails {
				t.Errorf("%s: %s %q", tc.reason, d.Condition.Reason, d.Condition.Message)
			}
			s := o.Suite.DeepCopy()
			lifecycle.SetStatus(s, o, d, t0)
			if r := s.Status.Results; (r.Expected == 100) != says || s.Status.DecidedBy != v1alpha1.DecidedByTests {
				t.Errorf("%s: %d expected, decided by %s", tc.reason, r.Expected, s.Status.DecidedBy)
			}
		})
	}
}

// TestKilledForMemory: a run in which a process was killed for its memory passes only if the tests of the last comparable run all ran.
func TestKilledForMemory(t *testing.T) {
	const killed, missing = "A process was killed.", "2 tests that passed there did not run here"
	compared := func(missing string) func(*lifecycle.Observation) {
		return func(o *lifecycle.Observation) { o.PassedBefore = passedRun("before", 3); o.TestsCompared(missing) }
	}
	unavailable := func(after time.Duration) func(*lifecycle.Observation) {
		return func(o *lifecycle.Observation) {
			o.PassedBefore, o.Stopping.Requested = passedRun("before", 3), t0.Add(-after)
			o.TestsNotCompared("it does not answer", t0)
		}
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*lifecycle.Observation)
		action lifecycle.Action
		want   metav1.Condition
	}{
		"Nothing": {"nothing shows which tests there are", func(*lifecycle.Observation) {}, lifecycle.Report,
			v1alpha1.Failed("3 tests passed. " + killed + " Nothing shows that all tests ran: no run of this Trigger, Environment and variables has passed.")},
		"Asks":        {"the store has their names", func(o *lifecycle.Observation) { o.PassedBefore = passedRun("before", 3) }, lifecycle.CompareTests, v1alpha1.Running("The tests have ended.")},
		"Missing":     {"they may have been killed", compared(missing), lifecycle.Report, v1alpha1.Failed("3 tests passed. " + killed + " Some tests of before, the last run that passed, may not have run: " + missing + ".")},
		"All":         {"they ran", compared(""), lifecycle.Report, v1alpha1.Passed("3 tests passed. The run passed. " + killed + " All tests of before, the last run that passed, ran.")},
		"Unavailable": {"the store may answer later", unavailable(time.Minute), lifecycle.Report, v1alpha1.Running("The tests have ended. " + killed + " The store is asked whether all tests ran, and cannot be used: it does not answer. It is tried again.")},
		"Too long": {"a run has to end", unavailable(time.Hour), lifecycle.Report,
			v1alpha1.Failed("3 tests passed. " + killed + " Some tests of before, the last run that passed, may not have run: the store that has their names cannot be used: it does not answer.")},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{
				Suite:      aSuite("self", 5),
				Definition: defined(aTrigger(), nil),
				Job:        aJob("self"),
				State:      outcome.State{Condition: v1alpha1.Passed("The run passed."), Killed: killed, Collected: &results.Collected{Summary: results.Summary{Counts: results.Counts{Reports: 1, Tests: 3, Passed: 3}}}},
			}
			tc.change(&o)
			d := decide(o, t0)
			if diff := cmp.Diff(tc.want, d.Condition); diff != "" || d.Action != tc.action {
				t.Errorf("%s: %q\n%s", tc.reason, d.Action, diff)
			}
			if lifecycle.Ended(d.Condition) == (d.RequeueAfter > 0) && d.Action == lifecycle.Report {
				t.Errorf("%s: again after %s", tc.reason, d.RequeueAfter)
			}
		})
	}
}

// TestLostFiles: a run whose reports were read passes although its files could not be uploaded, and says what to do.
func TestLostFiles(t *testing.T) {
	c := &results.Collected{Summary: results.Summary{Counts: results.Counts{Reports: 1, Tests: 2, Passed: 2}, Unkept: 3, Problem: "a.png and 2 more were not kept: the store did not answer."}}
	d := decide(lifecycle.Observation{Suite: aSuite("self", 0), Definition: lifecycle.Definition{Team: aTeam()}, Job: aJob("self"), State: outcome.State{Condition: v1alpha1.Passed("The run passed."), Collected: c}}, t0)
	want := v1alpha1.Passed("2 tests passed. The run passed. Not uploaded, and lost: 3 files (a.png and 2 more were not kept: the store did not answer.) " +
		"To have them, repeat the run: postflight runs rerun self -n demo")
	if diff := cmp.Diff(want, d.Condition); diff != "" {
		t.Error(diff)
	}
}

// TestShortTestsAreLookedAt: tests that end within a second may change nothing of their Job, whose pod an injected container holds open.
func TestShortTestsAreLookedAt(t *testing.T) {
	for unready, most := range map[bool]time.Duration{true: time.Minute, false: 30 * time.Minute} {
		o := lifecycle.Observation{Suite: aSuite("self", 0), Definition: defined(aTrigger(), nil), Job: aJob("self"), State: outcome.State{Condition: v1alpha1.Running("The tests are running."), Started: t0}, JobInfo: lifecycle.JobInfo{Unready: unready}}
		o.Job.CreationTimestamp = metav1.NewTime(t0)
		if d := decide(o, t0.Add(2*time.Second)); d.RequeueAfter == 0 || d.RequeueAfter > most || !unready && d.RequeueAfter < time.Minute {
			t.Errorf("unready: %t, again after %s", unready, d.RequeueAfter)
		}
	}
}
