package suite_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

var shop = []v1alpha1.TestedWorkload{{Kind: "Deployment", Namespace: "demo", Name: "shop", Start: &v1alpha1.WorkloadVersion{UID: "1", SHA: "a"}}}

// willContinue has recorded its repetition.
func willContinue(s *v1alpha1.Suite) {
	next, _ := suite.SuccessorOf(s, aTrigger(), v1alpha1.OriginRepetition, aLedger(s), t0)
	s.Status.RepeatedBy = next.Name
}

func isSuccessor(s *v1alpha1.Suite) {
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationRepeats, "earlier")
}

// TestUnderTest: a run has no verdict if what it tested changed, whatever its tests said, and is repeated once if its commit is still there.
func TestUnderTest(t *testing.T) {
	const changed = "The Deployment shop had a, and has b."
	same, other := &v1alpha1.UnderTest{Workloads: shop}, &v1alpha1.UnderTest{Workloads: shop, Changed: changed}
	ended := func(progress metav1.Condition, u suite.UnderTest, change ...func(*v1alpha1.Suite)) suite.Observation {
		return suite.Observation{
			Suite:      aSuite("a", 0, append([]func(*v1alpha1.Suite){in(v1alpha1.Running("busy")), withJob, commit("a")}, change...)...),
			Job:        aJob("a"),
			State:      outcome.State{Condition: progress},
			Definition: defined(aTrigger(), nil),
			End:        suite.End{UnderTest: u},
		}
	}
	came := func(o suite.Observation, r suite.Successor) suite.Observation {
		o.Successor = r
		return o
	}
	with := func(o suite.Observation, stream ...*v1alpha1.Suite) suite.Observation {
		o.Stream = slices.Concat(stream, []*v1alpha1.Suite{o.Suite})
		return o
	}
	lost := ended(v1alpha1.Passed(""), suite.UnderTest{Start: shop})
	lost.Job, lost.State.Condition = nil, metav1.Condition{}
	for name, tc := range map[string]struct {
		reason  string
		o       suite.Observation
		action  suite.Action
		state   string
		message string
	}{
		"no workloads":      {"nothing is known", ended(v1alpha1.Passed(""), suite.UnderTest{}), suite.Report, v1alpha1.ReasonPassed, ""},
		"passed":            {"compare first", ended(v1alpha1.Passed(""), suite.UnderTest{Start: shop}), suite.CompareWorkloads, v1alpha1.ReasonRunning, ""},
		"failed":            {"compare first", ended(v1alpha1.Failed(""), suite.UnderTest{Start: shop}), suite.CompareWorkloads, v1alpha1.ReasonRunning, ""},
		"unchanged, passed": {"", ended(v1alpha1.Passed("ok"), suite.UnderTest{Start: shop, Tested: same}), suite.Report, v1alpha1.ReasonPassed, "ok"},
		"unchanged, failed": {"", ended(v1alpha1.Failed("bad"), suite.UnderTest{Start: shop, Tested: same}), suite.Report, v1alpha1.ReasonFailed, "bad"},
		"an Error":          {"it says nothing anyway", ended(v1alpha1.Error(""), suite.UnderTest{Start: shop}), suite.Report, v1alpha1.ReasonError, ""},
		"its Job is gone":   {"it says nothing anyway", lost, suite.Report, v1alpha1.ReasonError, "was deleted"},
		"changed":           {"it records the next run first", ended(v1alpha1.Passed(""), suite.UnderTest{Start: shop, Tested: other}), suite.Report, v1alpha1.ReasonRunning, ""},
		"never what was notified": {"it is not repeated before the Environment has it", ended(v1alpha1.Passed(""), suite.UnderTest{Start: shop, Tested: same, Another: "It had b."}),
			suite.Report, v1alpha1.ReasonInconclusive, "What was tested is not what was notified: It had b. Let the Trigger wait"},
		"changed, passed": {"the commit is there", ended(v1alpha1.Passed(""), suite.UnderTest{Start: shop, Tested: other}, willContinue), suite.CreateSuccessor, v1alpha1.ReasonRunning, ""},
		"changed, failed": {"the commit is there", ended(v1alpha1.Failed(""), suite.UnderTest{Start: shop, Tested: other}, willContinue), suite.CreateSuccessor, v1alpha1.ReasonRunning, ""},
		"repeated": {"", came(ended(v1alpha1.Failed(""), suite.UnderTest{Start: shop, Tested: other}, willContinue), suite.Successor{Run: "a2"}), suite.Report,
			v1alpha1.ReasonInconclusive, "What was tested changed meanwhile: " + changed + " The run "},
		"cannot be repeated": {"", came(ended(v1alpha1.Failed(""), suite.UnderTest{Start: shop, Tested: other}), suite.Successor{Problem: "Too many."}), suite.Report,
			v1alpha1.ReasonInconclusive, "Too many."},
		"another commit":  {"its own run tests that", ended(v1alpha1.Passed(""), suite.UnderTest{Start: shop, Tested: other, Moved: true}), suite.Report, v1alpha1.ReasonInconclusive, "another commit was deployed"},
		"deleted":         {"there is nothing to test", ended(v1alpha1.Passed(""), suite.UnderTest{Start: shop, Tested: other, Gone: true}), suite.Report, v1alpha1.ReasonInconclusive, "its Environment was deleted"},
		"the second time": {"once is enough", ended(v1alpha1.Passed(""), suite.UnderTest{Start: shop, Tested: other}, isSuccessor), suite.Report, v1alpha1.ReasonInconclusive, "It repeated a run already."},
		"canceled":        {"nobody wants it", ended(v1alpha1.Passed(""), suite.UnderTest{Start: shop, Tested: other}, canceled), suite.Report, v1alpha1.ReasonInconclusive, "was to be stopped"},
		"a newer deployment": {"it must not be superseded", with(ended(v1alpha1.Passed(""), suite.UnderTest{Start: shop, Tested: other}), aSuite("b", 5, commit("b"))), suite.Report,
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
	s := aSuite("a", 0, in(v1alpha1.Running("busy")), withJob)
	s.Status.StartTime = &metav1.Time{Time: t0}
	j := aJob("a")
	o := suite.Observation{
		Suite:    s,
		Job:      j,
		State:    progress(v1alpha1.Failed("stopped")),
		JobInfo:  suite.JobInfo{TimeLimit: time.Minute},
		End:      suite.End{UnderTest: suite.UnderTest{Start: shop}},
		Stopping: suite.Stopping{Requested: t0.Add(time.Minute), Since: t0.Add(time.Minute)},
	}
	d := decide(o, t0.Add(2*time.Minute))
	if d.Action != suite.CompareWorkloads {
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
	o := suite.Observation{Suite: s, End: suite.End{UnderTest: suite.UnderTest{Start: shop}}, Waiting: suite.Waiting{Creation: suite.Creation{Result: suite.NotAccepted, Detail: "quota"}}}
	suite.SetStatus(s, o, suite.Decision{Condition: v1alpha1.Queued("")}, t0)
	if s.Status.UnderTest != nil {
		t.Errorf("%+v", s.Status.UnderTest)
	}
	o.Job = aJob("a")
	suite.SetStatus(s, o, suite.Decision{Condition: v1alpha1.Starting("")}, t0)
	if s.Status.UnderTest == nil {
		t.Error("what the tests see is not remembered")
	}
}

// TestSuccessorOf: a repetition is of the same notification and deployment, so that a later one is newer, whenever it is created.
func TestSuccessorOf(t *testing.T) {
	s := aSuite("a", 0, commit("a"), notifiedBy("request"))
	for _, after := range []time.Duration{10 * time.Second, time.Hour} {
		next, problem := suite.SuccessorOf(s, aTrigger(), v1alpha1.OriginRepetition, aLedger(s), t0.Add(after))
		if problem != "" || next.Received().Sub(t0.Add(after)) < -v1alpha1.MaxReceiptAge || next.Spec.Attempt != 2 || next.Annotations[v1alpha1.AnnotationRepeats] != "a" ||
			next.Annotations[v1alpha1.AnnotationRequestID] != "request" || next.Annotations[v1alpha1.AnnotationRerunBy] != "" || ledger.IsDeployment(next) {
			t.Errorf("%q %+v", problem, next)
		}
		next.CreationTimestamp = metav1.NewTime(t0.Add(after))
		if ledger.Compare(next, s) <= 0 || next.Restored() {
			t.Error("the run would supersede its repetition")
		}
		if newer := aSuite("b", 1, commit("b")); ledger.Compare(newer, next) <= 0 {
			t.Error("a newer deployment counts as older")
		}
	}
	if _, problem := suite.SuccessorOf(s, nil, v1alpha1.OriginRepetition, aLedger(s), t0); !strings.Contains(problem, "does not exist any more") {
		t.Errorf("%q", problem)
	}
}

// TestSuccessorWithinASecond: the status has whole seconds, and another rollout may follow the repetition in the second of its own.
func TestSuccessorWithinASecond(t *testing.T) {
	rollout := func(s *v1alpha1.Suite) { s.Spec.Origin = v1alpha1.OriginRollout }
	of, end, following := aSuite("a", 0, commit("a"), rollout), t0.Add(1200*time.Millisecond), t0.Add(1500*time.Millisecond)
	e := anEnvironment()
	e.Status.Deployed = []v1alpha1.Deployed{{SHA: "a", Since: &metav1.Time{Time: t0.Add(time.Second)}, Workloads: []v1alpha1.DeployedWorkload{{Name: "shop"}}}}
	l := ledger.Of(e, []*v1alpha1.Suite{of})
	successor, _ := suite.SuccessorOf(of, aTrigger(), v1alpha1.OriginRepetition, l, end)
	rerun := aSuite("a", 0, commit("a"))
	if problem := suite.SetDeployed(rerun, of, l, end); problem != "" {
		t.Fatal(problem)
	}
	next := aSuite("b", 0, commit("b"), rollout, func(s *v1alpha1.Suite) { s.Spec.ReceivedAt = &metav1.MicroTime{Time: following} })
	for _, s := range []*v1alpha1.Suite{successor, rerun, next} {
		s.CreationTimestamp = metav1.NewTime(t0.Add(time.Second))
	}
	if ledger.Compare(successor, next) >= 0 || ledger.Compare(rerun, next) >= 0 || ledger.Compare(successor, of) <= 0 {
		t.Errorf("%s and %s are not before %s", successor.DeployedAt(), rerun.DeployedAt(), next.DeployedAt())
	}
	if suite.SetDeployed(rerun, of, l, t0.Add(-time.Hour)); !rerun.Spec.DeployedAt.Equal(&metav1.MicroTime{Time: t0.Add(time.Second)}) {
		t.Errorf("a clock of an hour ago: %s", rerun.Spec.DeployedAt)
	}
}

// TestChangedBack: a run that is about to be repeated does not pass because the Environment has the earlier version again.
func TestChangedBack(t *testing.T) {
	s := aSuite("a", 0, in(v1alpha1.Running("busy")), withJob, commit("a"))
	o := suite.Observation{Suite: s, Job: aJob("a"), State: progress(v1alpha1.Passed("")), Definition: defined(aTrigger(), nil), End: suite.End{UnderTest: suite.UnderTest{Start: shop}}}
	o.Compared(&v1alpha1.UnderTest{Workloads: shop, Changed: "The Application shop had a, and has b."})
	suite.SetStatus(s, o, decide(o, t0), t0)
	if s.Status.RepeatedBy == "" || s.Finished() {
		t.Fatalf("%+v", s.Status)
	}
	o.UnderTest.Tested = nil // as after a restart
	o.Compared(&v1alpha1.UnderTest{Workloads: shop})
	if d := decide(o, t0); d.Action != suite.CreateSuccessor {
		t.Errorf("%+v", d)
	}
	o.Successor.Problem = "There is no room."
	suite.SetStatus(s, o, decide(o, t0), t0)
	if s.State() != v1alpha1.ReasonInconclusive || s.Status.RepeatedBy != "" || s.Status.UnderTest.Changed == "" {
		t.Errorf("%+v", s.Status)
	}
}

// TestSuccessorProblem: the result of no other Suite answers for a run.
func TestSuccessorProblem(t *testing.T) {
	run := aSuite("a", 0, commit("a"), notifiedBy("request"))
	run.Spec.Trigger.UID = aTrigger().UID
	next, _ := suite.SuccessorOf(run, aTrigger(), v1alpha1.OriginRepetition, aLedger(run), t0)
	passed, byNotification := in(v1alpha1.Passed("")), func(s *v1alpha1.Suite) {
		delete(s.Annotations, v1alpha1.AnnotationRepeats)
		s.Spec.Origin, s.Spec.DeployedAt, s.Spec.ReceivedAt = v1alpha1.OriginNotification, nil, &metav1.MicroTime{Time: t0.Add(time.Minute)}
	}
	before := func(s *v1alpha1.Suite) { s.Spec.DeployedAt = &metav1.MicroTime{Time: t0.Add(-time.Hour)} }
	for name, tc := range map[string]struct {
		reason string
		change []func(*v1alpha1.Suite)
		want   string
	}{
		"ours":             {"after a crash", nil, ""},
		"ours, ended":      {"after a long crash", []func(*v1alpha1.Suite){passed}, ""},
		"notified":         {"it will test what is there", []func(*v1alpha1.Suite){byNotification}, ""},
		"notified, ended":  {"it may have tested another version", []func(*v1alpha1.Suite){byNotification, passed}, "was there before"},
		"notified, before": {"an attempt of another notification", []func(*v1alpha1.Suite){byNotification, before}, "was there before"},
		"another URL":      {"another deployment", []func(*v1alpha1.Suite){func(s *v1alpha1.Suite) { s.Spec.Deployment.URL = "https://other.example.com" }}, "belongs to another Suite"},
		"other variables":  {"another deployment", []func(*v1alpha1.Suite){func(s *v1alpha1.Suite) { s.Spec.Variables = map[string]string{"SKIP": "1"} }}, "belongs to another Suite"},
		"another commit":   {"somebody took the name", []func(*v1alpha1.Suite){commit("b")}, "belongs to another Suite"},
		"being deleted":    {"it will have no result", []func(*v1alpha1.Suite){deleted}, "is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			existing := next.DeepCopy()
			for _, change := range tc.change {
				change(existing)
			}
			if got := suite.SuccessorProblem(existing, next, run); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: %q", tc.reason, got)
			}
		})
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
			s, j := aSuite("a", 0, in(v1alpha1.Running("busy")), withJob, commit("a"), isSuccessor), aJob("a")
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(t0)}}
			o := suite.Observation{Suite: s, Job: j, State: progress(v1alpha1.Passed("ok")), Definition: defined(aTrigger(), nil), End: suite.End{UnderTest: suite.UnderTest{Start: shop}}}
			if tc.gone {
				o.Job, o.TimeLimit, s.Status.StartTime = nil, time.Second, &metav1.Time{Time: t0.Add(-time.Minute)}
			}
			now := t0.Add(tc.after)
			if d := decide(o, now); d.Action != suite.CompareWorkloads {
				t.Fatalf("%+v", d)
			}
			o.NotCompared(problem, now)
			d := decide(o, now)
			if d.Action != suite.Report || d.Condition.Reason != tc.state || !strings.HasPrefix(d.Condition.Message, tc.begins) {
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
	run := aSuite("a", 0, in(v1alpha1.Running("busy")), withJob, commit("a"))
	for sha, want := range map[string]string{"a": v1alpha1.ReasonRunning, "b": v1alpha1.ReasonSuperseded} {
		other := aSuite("other", 5, commit(sha))
		metav1.SetMetaDataAnnotation(&other.ObjectMeta, v1alpha1.AnnotationRepeats, "a")
		other.Spec.Origin = v1alpha1.OriginManual
		o := suite.Observation{Suite: run, Job: aJob("a"), State: progress(v1alpha1.Running("busy")), Definition: defined(aTrigger(), nil), Stream: []*v1alpha1.Suite{run, other}}
		if d := decide(o, t0.Add(10*time.Second)); (d.SupersededBy != "") != (want == v1alpha1.ReasonSuperseded) {
			t.Errorf("%s: %+v", sha, d)
		}
	}
}
