package lifecycle_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

func retries(onError int32) func(*v1alpha1.Trigger) *v1alpha1.Trigger {
	return func(t *v1alpha1.Trigger) *v1alpha1.Trigger {
		t.Spec.Retry = &v1alpha1.Retry{OnError: onError}
		return t
	}
}

func retried(times int) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationRepeats, "earlier")
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationRetries, strconv.Itoa(times))
	}
}

// willRetry has recorded its retry.
func willRetry(s *v1alpha1.Suite) {
	next, _ := rerun.SuccessorOf(s, aTrigger(), v1alpha1.OriginRetry, aLedger(), t0)
	s.Status.RepeatedBy = next.Name
}

// TestRetry: a run that the cluster ended is repeated as often as its Trigger says, and no other is.
func TestRetry(t *testing.T) {
	const cause = "The cluster stopped the pod before its tests ended: Evicted."
	evicted := cause + " " + results.RerunAdvice
	type change = func(*lifecycle.Observation)
	is := func(changes ...func(*v1alpha1.Suite)) change {
		return func(o *lifecycle.Observation) {
			for _, c := range changes {
				c(o.Suite)
			}
		}
	}
	ends := func(progress metav1.Condition, interrupted bool) change {
		return func(o *lifecycle.Observation) { o.Condition, o.Interrupted = progress, interrupted }
	}
	onError := func(n int32) change { return func(o *lifecycle.Observation) { retries(n)(o.Trigger) } }
	created := func(o *lifecycle.Observation) { o.Successor.Run = o.Suite.Status.RepeatedBy }
	for name, tc := range map[string]struct {
		reason  string
		change  []change
		action  lifecycle.Action
		state   string
		message string
	}{
		"at first":          {"it records the next run", nil, lifecycle.Report, v1alpha1.ReasonRunning, "before its tests ended: Evicted."},
		"recorded":          {"it creates it", []change{is(willRetry)}, lifecycle.CreateSuccessor, v1alpha1.ReasonRunning, "Evicted."},
		"created":           {"it ends", []change{is(willRetry), created}, lifecycle.Report, v1alpha1.ReasonError, "is retry 1 of 2."},
		"created again":     {"retries count", []change{is(retried(1), willRetry), created}, lifecycle.Report, v1alpha1.ReasonError, "is retry 2 of 2."},
		"the last":          {"two are enough", []change{is(retried(2))}, lifecycle.Report, v1alpha1.ReasonError, "It was retry 2 of 2, the last."},
		"lowered meanwhile": {"what the Trigger says now counts", []change{is(retried(2)), onError(1)}, lifecycle.Report, v1alpha1.ReasonError, "It was retry 2 of 1, the last."},
		"none":              {"the default", []change{onError(0)}, lifecycle.Report, v1alpha1.ReasonError, evicted},
		"no Trigger":        {"there is nothing to run", []change{func(o *lifecycle.Observation) { o.Trigger = nil }}, lifecycle.Report, v1alpha1.ReasonError, evicted},
		"paused":            {"somebody stopped it", []change{func(o *lifecycle.Observation) { o.Trigger.Spec.Paused = true }}, lifecycle.Report, v1alpha1.ReasonError, "its Trigger is paused"},
		"canceled":          {"nobody wants it", []change{is(canceled)}, lifecycle.Report, v1alpha1.ReasonError, "it was to be stopped"},
		"deleted":           {"nobody wants it", []change{is(deleted)}, lifecycle.Report, v1alpha1.ReasonError, "it was to be stopped"},
		"a newer deployment": {"that one counts", []change{func(o *lifecycle.Observation) { o.Stream = append(o.Stream, o.Suite, aSuite("b", 5, commit("b"))) }},
			lifecycle.Report, v1alpha1.ReasonError, "because b tests a newer deployment"},
		"name taken": {"it cannot be created", []change{is(willRetry), func(o *lifecycle.Observation) { o.Successor.Problem = "The name is taken." }},
			lifecycle.Report, v1alpha1.ReasonError, "The name is taken."},
		"a wrong configuration": {"it would fail again", []change{ends(v1alpha1.Error("No."), false)}, lifecycle.Report, v1alpha1.ReasonError, "No."},
		"failed":                {"failures never", []change{ends(v1alpha1.Failed("No."), true)}, lifecycle.Report, v1alpha1.ReasonFailed, "No."},
		"timed out":             {"the tests hang", []change{ends(v1alpha1.TimedOut("No."), true)}, lifecycle.Report, v1alpha1.ReasonTimedOut, "No."},
		"passed":                {"it has a result", []change{ends(v1alpha1.Passed("Yes."), true)}, lifecycle.Report, v1alpha1.ReasonPassed, "Yes."},
		"a test had failed": {"failures never", []change{func(o *lifecycle.Observation) {
			o.Collected = &results.Collected{Summary: results.Summary{Counts: results.Counts{Tests: 2, Failed: 1}}}
		}}, lifecycle.Report, v1alpha1.ReasonError, evicted},
		"a test failed in quarantine": {"that is none", []change{is(willRetry), func(o *lifecycle.Observation) {
			o.Collected = &results.Collected{Summary: results.Summary{Counts: results.Counts{Tests: 2, Failed: 1, Quarantined: 1}}}
			o.Successor.Problem = "The name is taken."
		}}, lifecycle.Report, v1alpha1.ReasonError, "The name is taken."},
		"its Job was deleted": {"somebody wanted it to end", []change{is(withJob), func(o *lifecycle.Observation) { o.Job = nil }}, lifecycle.Report, v1alpha1.ReasonError, "was deleted before it ended"},
		"lost": {"its node is gone", []change{func(o *lifecycle.Observation) {
			o.Condition, o.Stopping.LostToCluster, o.Stopping.Lost = v1alpha1.Running(""), true, "The pod x was deleted, and its node did not confirm that."
		}}, lifecycle.Report, v1alpha1.ReasonRunning, "did not confirm"},
		"lost, canceled": {"its pods were to stop", []change{func(o *lifecycle.Observation) {
			o.Condition, o.Stopping.Lost = v1alpha1.Running(""), "The pod x was deleted, and its node did not confirm that."
		}}, lifecycle.Report, v1alpha1.ReasonError, "did not confirm"},
		"many": {"somebody wrote that", []change{is(retried(100))}, lifecycle.Report, v1alpha1.ReasonError, "the last."},
	} {
		t.Run(name, func(t *testing.T) {
			o := lifecycle.Observation{
				Suite:      aSuite("a", 0, inState(v1alpha1.Running("busy")), commit("a")),
				Job:        aJob("a"),
				State:      outcome.State{Condition: v1alpha1.Error(cause), Advice: results.RerunAdvice, Interrupted: true},
				Definition: defined(retries(2)(aTrigger()), nil),
			}
			for _, c := range tc.change {
				c(&o)
			}
			d := decide(o, t0.Add(time.Minute))
			message := outcome.WithAdvice(d.Condition, d.Advice).Message
			if d.Action != tc.action || d.Condition.Reason != tc.state || !strings.Contains(message, tc.message) {
				t.Errorf("%s: %q %s %q", tc.reason, d.Action, d.Condition.Reason, message)
			}
			if strings.Contains(message, " is retry ") && strings.Contains(message, "Notify again") {
				t.Errorf("nobody has to notify again: %q", message)
			}
		})
	}
}

// TestRetryOfAPull waits longer each time, without the slot of another run being taken twice, and remembers why the run was stopped.
func TestRetryOfAPull(t *testing.T) {
	for name, tc := range map[string]struct {
		times int
		after time.Duration
		state string
		waits time.Duration
	}{
		"at once":      {0, 10 * time.Second, v1alpha1.ReasonStarting, 20 * time.Second},
		"then":         {0, 30 * time.Second, v1alpha1.ReasonStarting, time.Nanosecond}, // it records the next run
		"again":        {1, 10 * time.Second, v1alpha1.ReasonStarting, 50 * time.Second},
		"the last":     {2, 10 * time.Second, v1alpha1.ReasonError, 0},
		"much earlier": {0, 24 * time.Hour, v1alpha1.ReasonStarting, time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSuite("a", 0, inState(v1alpha1.Starting("")), withJob, commit("a"))
			if tc.times > 0 {
				retried(tc.times)(s)
			}
			why := v1alpha1.NotStarted(v1alpha1.ReasonImageNotPulled, "The tests did not start within 15m.")
			why.LastTransitionTime = metav1.NewTime(t0)
			s.Status.Conditions = append(s.Status.Conditions, why)
			d := decide(lifecycle.Observation{Suite: s, Definition: defined(retries(2)(aTrigger()), nil)}, t0.Add(tc.after))
			if d.Condition.Reason != tc.state || d.RequeueAfter != tc.waits {
				t.Errorf("%+v", d)
			}
		})
	}
	s := aSuite("a", 0, inState(v1alpha1.Starting("")), withJob)
	o := lifecycle.Observation{
		Suite:      s,
		Job:        createdJob("a", t0),
		State:      outcome.State{Condition: v1alpha1.Starting(""), Unpulled: true, StartingSince: t0},
		JobInfo:    lifecycle.JobInfo{StartLimit: time.Minute},
		Definition: defined(retries(1)(aTrigger()), nil),
	}
	lifecycle.SetStatus(s, o, decide(o, t0.Add(time.Hour)), t0.Add(time.Hour))
	if c := s.Status.Conditions; c[len(c)-1].Reason != v1alpha1.ReasonImageNotPulled {
		t.Errorf("%+v", c)
	}
}

// TestRetriesAreBounded: errors and changes in any order make at most onError+2 runs.
func TestRetriesAreBounded(t *testing.T) {
	for name, ends := range map[string][]string{
		"errors":              {"E", "E", "E"},
		"then a change":       {"E", "I", "I"},
		"a change first":      {"I", "E", "E", "E"},
		"a change in between": {"E", "I", "E", "I"},
		"the most":            {"E", "E", "I", "E"},
	} {
		t.Run(name, func(t *testing.T) {
			s, runs := aSuite("a", 0, commit("a")), 0
			for _, end := range ends {
				runs++
				s.Status.Conditions = []metav1.Condition{v1alpha1.Running("busy")}
				o := lifecycle.Observation{Suite: s, Job: aJob(s.Name), Definition: defined(retries(2)(aTrigger()), nil), End: lifecycle.End{UnderTest: lifecycle.UnderTest{Start: shop}}}
				if end == "E" {
					o.Condition, o.Interrupted = v1alpha1.Error("evicted"), true
				} else {
					o.Condition = v1alpha1.Passed("")
					o.Compared(&v1alpha1.UnderTest{Workloads: shop, Changed: "It changed."})
				}
				o.Ledger = aLedger(s)
				next, _ := lifecycle.NextSuccessor(o, t0)
				if s.Status.RepeatedBy = next.Name; decide(o, t0).Action != lifecycle.CreateSuccessor {
					break
				}
				s = next
			}
			if runs != len(ends) || runs > 4 {
				t.Errorf("there were %d runs", runs)
			}
		})
	}
}

// checkSuccessor: only a run without a result is repeated, at most as often as its Trigger says, and once for what changed.
func (w *world) checkSuccessor(t *rapid.T, s *v1alpha1.Suite) {
	if s.Status.RepeatedBy != "" && w.suites[s.Status.RepeatedBy] == nil {
		t.Fatalf("%s ended, and %s, which repeats it, does not exist", s.Name, s.Status.RepeatedBy)
	}
	if s.Status.RepeatedBy != "" && s.State() != v1alpha1.ReasonError && s.State() != v1alpha1.ReasonInconclusive {
		t.Fatalf("%s is %s, and is repeated", s.Name, s.State())
	}
	errors, changes := int32(0), 0
	for of := w.suites[s.Annotations[v1alpha1.AnnotationRepeats]]; of != nil; of = w.suites[of.Annotations[v1alpha1.AnnotationRepeats]] {
		switch of.State() {
		case v1alpha1.ReasonError:
			errors++
		case v1alpha1.ReasonInconclusive:
			changes++
		}
	}
	if errors > w.onError || changes > 1 {
		t.Fatalf("%s is the successor of %d errors and %d changes, with onError %d", s.Name, errors, changes, w.onError)
	}
}
