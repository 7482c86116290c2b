package lifecycle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
)

// willContinue has recorded its successor.
func willContinue(s *v1alpha1.Suite) {
	next, _ := rerun.SuccessorOf(s, aTrigger(), v1alpha1.OriginRepetition, aLedger(s), t0)
	s.Status.RepeatedBy = next.Name
}

// TestUnderTest: a run has no verdict if what it tested changed, whatever its tests said, and is repeated once if its commit is still
// there.
func TestUnderTest(t *testing.T) {
	const changed = "The Deployment shop had a, and has b."
	same, other := &v1alpha1.UnderTest{Workloads: shop}, &v1alpha1.UnderTest{Workloads: shop, Changed: changed}
	ended := func(progress metav1.Condition, u lifecycle.UnderTest, change ...func(*v1alpha1.Suite)) lifecycle.Observation {
		return lifecycle.Observation{
			Suite:      aSuite("a", 0, append([]func(*v1alpha1.Suite){inState(v1alpha1.Running("busy")), withJob, commit("a")}, change...)...),
			Job:        aJob("a"),
			State:      outcome.State{Condition: progress},
			Definition: defined(aTrigger(), nil),
			End:        lifecycle.End{UnderTest: u},
		}
	}
	came := func(o lifecycle.Observation, r lifecycle.Successor) lifecycle.Observation {
		o.Successor = r
		return o
	}
	with := func(o lifecycle.Observation, stream ...*v1alpha1.Suite) lifecycle.Observation {
		o.Stream = slices.Concat(stream, []*v1alpha1.Suite{o.Suite})
		return o
	}
	lost := ended(v1alpha1.Passed(""), lifecycle.UnderTest{Start: shop})
	lost.Job, lost.Condition = nil, metav1.Condition{}
	for name, tc := range map[string]struct {
		reason  string
		o       lifecycle.Observation
		action  lifecycle.Action
		state   string
		message string
	}{
		"no workloads":      {"nothing is known", ended(v1alpha1.Passed(""), lifecycle.UnderTest{}), lifecycle.Report, v1alpha1.ReasonPassed, ""},
		"passed":            {"compare first", ended(v1alpha1.Passed(""), lifecycle.UnderTest{Start: shop}), lifecycle.CompareWorkloads, v1alpha1.ReasonRunning, ""},
		"failed":            {"compare first", ended(v1alpha1.Failed(""), lifecycle.UnderTest{Start: shop}), lifecycle.CompareWorkloads, v1alpha1.ReasonRunning, ""},
		"unchanged, passed": {"", ended(v1alpha1.Passed("ok"), lifecycle.UnderTest{Start: shop, Tested: same}), lifecycle.Report, v1alpha1.ReasonPassed, "ok"},
		"unchanged, failed": {"", ended(v1alpha1.Failed("bad"), lifecycle.UnderTest{Start: shop, Tested: same}), lifecycle.Report, v1alpha1.ReasonFailed, "bad"},
		"an Error":          {"it says nothing anyway", ended(v1alpha1.Error(""), lifecycle.UnderTest{Start: shop}), lifecycle.Report, v1alpha1.ReasonError, ""},
		"its Job is gone":   {"it says nothing anyway", lost, lifecycle.Report, v1alpha1.ReasonError, "was deleted"},
		"changed":           {"it records the next run first", ended(v1alpha1.Passed(""), lifecycle.UnderTest{Start: shop, Tested: other}), lifecycle.Report, v1alpha1.ReasonRunning, ""},
		"never what was notified": {"it is not repeated before the Environment has it", ended(v1alpha1.Passed(""), lifecycle.UnderTest{Start: shop, Tested: same, Another: "It had b."}),
			lifecycle.Report, v1alpha1.ReasonInconclusive, "What was tested is not what was notified: It had b. Let the Trigger wait"},
		"changed, passed": {"the commit is there", ended(v1alpha1.Passed(""), lifecycle.UnderTest{Start: shop, Tested: other}, willContinue), lifecycle.CreateSuccessor, v1alpha1.ReasonRunning, ""},
		"changed, failed": {"the commit is there", ended(v1alpha1.Failed(""), lifecycle.UnderTest{Start: shop, Tested: other}, willContinue), lifecycle.CreateSuccessor, v1alpha1.ReasonRunning, ""},
		"repeated": {"", came(ended(v1alpha1.Failed(""), lifecycle.UnderTest{Start: shop, Tested: other}, willContinue), lifecycle.Successor{Run: "a2"}), lifecycle.Report,
			v1alpha1.ReasonInconclusive, "What was tested changed meanwhile: " + changed + " The run "},
		"cannot be repeated": {"", came(ended(v1alpha1.Failed(""), lifecycle.UnderTest{Start: shop, Tested: other}), lifecycle.Successor{Problem: "Too many."}), lifecycle.Report,
			v1alpha1.ReasonInconclusive, "Too many."},
		"another commit":  {"its own run tests that", ended(v1alpha1.Passed(""), lifecycle.UnderTest{Start: shop, Tested: other, Moved: true}), lifecycle.Report, v1alpha1.ReasonInconclusive, "another commit was deployed"},
		"deleted":         {"there is nothing to test", ended(v1alpha1.Passed(""), lifecycle.UnderTest{Start: shop, Tested: other, Gone: true}), lifecycle.Report, v1alpha1.ReasonInconclusive, "its Environment was deleted"},
		"the second time": {"once is enough", ended(v1alpha1.Passed(""), lifecycle.UnderTest{Start: shop, Tested: other}, isSuccessor), lifecycle.Report, v1alpha1.ReasonInconclusive, "It repeated a run already."},
		"canceled":        {"nobody wants it", ended(v1alpha1.Passed(""), lifecycle.UnderTest{Start: shop, Tested: other}, canceled), lifecycle.Report, v1alpha1.ReasonInconclusive, "was to be stopped"},
		"a newer deployment": {"it must not be superseded", with(ended(v1alpha1.Passed(""), lifecycle.UnderTest{Start: shop, Tested: other}), aSuite("b", 5, commit("b"))), lifecycle.Report,
			v1alpha1.ReasonInconclusive, "because b tests a newer deployment"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tc.o, t0.Add(time.Minute))
			if d.Action != tc.action || d.Condition.Reason != tc.state || !strings.Contains(d.Condition.Message, tc.message) {
				t.Errorf("%s: %q %s %q", tc.reason, d.Action, d.Condition.Reason, d.Condition.Message)
			}
		})
	}
}

// TestTimedOutUnderTest: a change may be why it took so long.
func TestTimedOutUnderTest(t *testing.T) {
	s := aSuite("a", 0, inState(v1alpha1.Running("busy")), withJob)
	s.Status.StartTime = &metav1.Time{Time: t0}
	j := aJob("a")
	o := lifecycle.Observation{
		Suite:    s,
		Job:      j,
		State:    progress(v1alpha1.Failed("stopped")),
		JobInfo:  lifecycle.JobInfo{TimeLimit: time.Minute},
		End:      lifecycle.End{UnderTest: lifecycle.UnderTest{Start: shop}},
		Stopping: lifecycle.Stopping{Requested: t0.Add(time.Minute), Since: t0.Add(time.Minute)},
	}
	d := decide(o, t0.Add(2*time.Minute))
	if d.Action != lifecycle.CompareWorkloads {
		t.Errorf("%+v", d)
	}
	o.UnderTest.Tested = &v1alpha1.UnderTest{}
	if d = decide(o, t0.Add(2*time.Minute)); d.Condition.Reason != v1alpha1.ReasonTimedOut {
		t.Errorf("%+v", d)
	}
}

// TestRefusedJobStartsNothing: what was there when the Job was refused is not what the tests see later.
func TestRefusedJobStartsNothing(t *testing.T) {
	s := aSuite("a", 0)
	o := lifecycle.Observation{Suite: s, End: lifecycle.End{UnderTest: lifecycle.UnderTest{Start: shop}}, Waiting: lifecycle.Waiting{Creation: lifecycle.Creation{Result: lifecycle.NotAccepted, Detail: "quota"}}}
	lifecycle.SetStatus(s, o, lifecycle.Decision{Condition: v1alpha1.Queued("")}, t0)
	if s.Status.UnderTest != nil {
		t.Errorf("%+v", s.Status.UnderTest)
	}
	o.Job = aJob("a")
	lifecycle.SetStatus(s, o, lifecycle.Decision{Condition: v1alpha1.Starting("")}, t0)
	if s.Status.UnderTest == nil {
		t.Error("what the tests see is not remembered")
	}
}

// TestChangedBack: a run that is about to be repeated does not pass because the Environment has the earlier version again.
func TestChangedBack(t *testing.T) {
	s := aSuite("a", 0, inState(v1alpha1.Running("busy")), withJob, commit("a"))
	o := lifecycle.Observation{Suite: s, Job: aJob("a"), State: progress(v1alpha1.Passed("")), Definition: defined(aTrigger(), nil), End: lifecycle.End{UnderTest: lifecycle.UnderTest{Start: shop}}}
	o.Compared(&v1alpha1.UnderTest{Workloads: shop, Changed: "The Application shop had a, and has b."})
	lifecycle.SetStatus(s, o, decide(o, t0), t0)
	if s.Status.RepeatedBy == "" || s.Finished() {
		t.Fatalf("%+v", s.Status)
	}
	o.UnderTest.Tested = nil // as after a restart
	o.Compared(&v1alpha1.UnderTest{Workloads: shop})
	if d := decide(o, t0); d.Action != lifecycle.CreateSuccessor {
		t.Errorf("%+v", d)
	}
	o.Successor.Problem = "There is no room."
	lifecycle.SetStatus(s, o, decide(o, t0), t0)
	if s.State() != v1alpha1.ReasonInconclusive || s.Status.RepeatedBy != "" || s.Status.UnderTest.Changed == "" {
		t.Errorf("%+v", s.Status)
	}
}

// TestUnreadable: a run waits for an API server that does not say what the Environment has, and not for ever.
func TestUnreadable(t *testing.T) {
	const problem = "Nobody knows what was tested: the server is on fire."
	for name, tc := range map[string]struct {
		after  time.Duration
		gone   bool // its Job
		state  string
		begins string
	}{
		"at once": {0, false, v1alpha1.ReasonRunning, "The tests have ended. " + problem},
		"later":   {9 * time.Minute, false, v1alpha1.ReasonRunning, "The tests have ended. " + problem},
		"at last": {10 * time.Minute, false, v1alpha1.ReasonInconclusive, "What was tested changed meanwhile: " + problem},
		"no Job":  {0, true, v1alpha1.ReasonInconclusive, "What was tested changed meanwhile: " + problem},
	} {
		t.Run(name, func(t *testing.T) {
			s, j := aSuite("a", 0, inState(v1alpha1.Running("busy")), withJob, commit("a"), isSuccessor), aJob("a")
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(t0)}}
			o := lifecycle.Observation{Suite: s, Job: j, State: progress(v1alpha1.Passed("ok")), Definition: defined(aTrigger(), nil), End: lifecycle.End{UnderTest: lifecycle.UnderTest{Start: shop}}}
			if tc.gone {
				o.Job, o.TimeLimit, s.Status.StartTime = nil, time.Second, &metav1.Time{Time: t0.Add(-time.Minute)}
			}
			now := t0.Add(tc.after)
			if d := decide(o, now); d.Action != lifecycle.CompareWorkloads {
				t.Fatalf("%+v", d)
			}
			o.NotCompared(problem, now)
			d := decide(o, now)
			if d.Action != lifecycle.Report || d.Condition.Reason != tc.state || !strings.HasPrefix(d.Condition.Message, tc.begins) {
				t.Errorf("%+v", d)
			}
			if wait := d.RequeueAfter; tc.state == v1alpha1.ReasonRunning && (wait < time.Second || wait > 15*time.Second) {
				t.Errorf("it is tried again after %s", wait)
			}
		})
	}
}

// TestForgedSuccessor: a Suite of another commit that says it repeats a run is a newer deployment all the same.
func TestForgedSuccessor(t *testing.T) {
	run := aSuite("a", 0, inState(v1alpha1.Running("busy")), withJob, commit("a"))
	for sha, want := range map[string]string{"a": v1alpha1.ReasonRunning, "b": v1alpha1.ReasonSuperseded} {
		other := aSuite("other", 5, commit(sha))
		metav1.SetMetaDataAnnotation(&other.ObjectMeta, v1alpha1.AnnotationRepeats, "a")
		other.Spec.Origin = v1alpha1.OriginManual
		o := lifecycle.Observation{Suite: run, Job: aJob("a"), State: progress(v1alpha1.Running("busy")), Definition: defined(aTrigger(), nil), Stream: []*v1alpha1.Suite{run, other}}
		if d := decide(o, t0.Add(10*time.Second)); (d.SupersededBy != "") != (want == v1alpha1.ReasonSuperseded) {
			t.Errorf("%s: %+v", sha, d)
		}
	}
}
