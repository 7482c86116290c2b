package lifecycle_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
)

// TestKeepFailedPods: a run that ended badly is kept with its pods as long as its Trigger said then.
func TestKeepFailedPods(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		end    metav1.Condition
		ttl    time.Duration
		keep   time.Duration
		want   time.Duration // after its end
	}{
		"failed":          {"somebody looks", v1alpha1.Failed(""), time.Minute, time.Hour, time.Hour},
		"timed out":       {"somebody looks", v1alpha1.TimedOut(""), time.Minute, time.Hour, time.Hour},
		"an error":        {"somebody looks", v1alpha1.Error(""), time.Minute, time.Hour, time.Hour},
		"passed":          {"nobody looks", v1alpha1.Passed(""), time.Minute, time.Hour, time.Minute},
		"canceled":        {"nobody looks", v1alpha1.Canceled(""), time.Minute, time.Hour, time.Minute},
		"retention":       {"it is longer", v1alpha1.Failed(""), 2 * time.Hour, time.Hour, 2 * time.Hour},
		"nobody said how": {"retention decides", v1alpha1.Failed(""), time.Minute, 0, time.Minute},
		"without a Job":   {"there are no pods", v1alpha1.Error("no Trigger"), time.Minute, time.Hour, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			s, trigger := aSuite("a", 0, withJob), aTrigger()
			if tc.reason == "there are no pods" {
				s.Status.JobName = ""
			}
			s.Spec.TTLAfterFinished = &metav1.Duration{Duration: tc.ttl}
			if tc.keep > 0 {
				trigger.Spec.KeepFailedPods = &metav1.Duration{Duration: tc.keep}
			}
			lifecycle.SetStatus(s, lifecycle.Observation{Suite: s, Definition: lifecycle.Definition{Trigger: trigger}}, lifecycle.Decision{Condition: tc.end}, t0)
			d := decide(lifecycle.Observation{Suite: s}, t0.Add(tc.want-time.Second)) // its Trigger was deleted meanwhile
			if d.Action != lifecycle.Report || d.RequeueAfter != time.Second {
				t.Errorf("%s: just before: %+v", tc.reason, d)
			}
			if d = decide(lifecycle.Observation{Suite: s}, t0.Add(tc.want)); d.Action != lifecycle.DeleteSuite {
				t.Errorf("%s: %+v", tc.reason, d)
			}
		})
	}
}

// TestKstatus reads Suites as Argo CD, Flux and kubectl wait do.
func TestKstatus(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		condition metav1.Condition
		want      status.Status
	}{
		"New":        {"A Suite that was not reconciled yet is not healthy.", metav1.Condition{}, status.InProgressStatus},
		"Queued":     {"It waits.", v1alpha1.Queued("Waiting."), status.InProgressStatus},
		"Running":    {"It runs.", v1alpha1.Running("Busy."), status.InProgressStatus},
		"Passed":     {"It is done, and well.", v1alpha1.Passed("Good."), status.CurrentStatus},
		"Failed":     {"It is done, and not well.", v1alpha1.Failed("Bad."), status.FailedStatus},
		"Error":      {"It could not be carried out.", v1alpha1.Error("Broken."), status.FailedStatus},
		"Superseded": {"It never looks green.", v1alpha1.Superseded("Over."), status.FailedStatus},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSuite("self", 1)
			s.Generation = 1
			s.Status.ObservedGeneration = -1 // what the API server fills in
			if tc.condition.Type != "" {
				lifecycle.SetStatus(s, lifecycle.Observation{Suite: s}, lifecycle.Decision{Condition: v1alpha1.Running("Before.")}, t0)
				lifecycle.SetStatus(s, lifecycle.Observation{Suite: s}, lifecycle.Decision{Condition: tc.condition}, t0.Add(time.Second))
			}
			got, err := status.Compute(asUnstructured(t, s))
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != tc.want {
				t.Errorf("%s\nkstatus reads %s (%s), want %s", tc.reason, got.Status, got.Message, tc.want)
			}
		})
	}
}

func asUnstructured(t *testing.T, s *v1alpha1.Suite) *unstructured.Unstructured {
	t.Helper()
	s.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Suite"}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

func TestStartTimeIsTheEarliest(t *testing.T) {
	created, early, late := t0.Add(-time.Second), t0.Add(time.Second), t0.Add(9*time.Second)
	for name, tc := range map[string]struct{ recorded, started, want time.Time }{
		"nothing is recorded yet":                                {started: late, want: late},
		"a pod says at the end when they really started":         {recorded: late, started: early, want: early},
		"the first pod is gone, and a later one says when":       {recorded: early, started: late, want: early},
		"the clock of a later pod's node is behind":              {recorded: late, started: created.Add(-time.Hour), want: created},
		"no pod is left that says when":                          {recorded: early, want: early},
		"nothing says when, so it is when the Job was started":   {want: t0},
		"what is recorded is what the pod says, to the fraction": {recorded: early, started: early, want: early},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSuite("self", 1)
			if !tc.recorded.IsZero() {
				s.Status.StartTime = &metav1.Time{Time: tc.recorded}
			}
			passed := v1alpha1.Passed("Good.")
			j := startedJob("self", t0)
			j.CreationTimestamp = metav1.NewTime(created)
			o := lifecycle.Observation{Suite: s.DeepCopy(), Job: j, State: outcome.State{Condition: passed, Started: tc.started}}
			lifecycle.SetStatus(s, o, lifecycle.Decision{Condition: passed}, t0.Add(time.Minute))
			if got := s.Status.StartTime; got == nil || !got.Time.Equal(tc.want) {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
}

// TestWhenToReport: what a status waits for, so that Jobs come first and a team that queues thousands delays only itself.
func TestWhenToReport(t *testing.T) {
	ready := func(change func(*lifecycle.Observation)) lifecycle.Observation {
		o := lifecycle.Observation{Suite: aSuite("a", 0), Definition: defined(aTrigger(), anEnvironment())}
		change(&o)
		return o
	}
	starting := func(o *lifecycle.Observation) {
		o.Job, o.Condition = aJob("a"), v1alpha1.Starting("The pod starts.")
	}
	for name, tc := range map[string]struct {
		reason string
		o      lifecycle.Observation
		want   lifecycle.Decision // only when to report
	}{
		"a new Job":           {"Kubernetes changes it soon.", ready(func(o *lifecycle.Observation) { starting(o); o.Creation.Result = lifecycle.Created }), lifecycle.Decision{Deferred: true}},
		"a Job of before":     {"Nobody waits for it.", ready(starting), lifecycle.Decision{}},
		"pods that never run": {"A thousand of them hold up others.", ready(func(o *lifecycle.Observation) { starting(o); o.Unready = true }), lifecycle.Decision{Stuck: true}},
		"its end": {"It is news.", ready(func(o *lifecycle.Observation) {
			starting(o)
			o.Unready, o.Condition = true, v1alpha1.Failed("It failed.")
		}), lifecycle.Decision{}},
		"in the queue":       {"Only its message changes.", ready(func(o *lifecycle.Observation) { o.Position = &queue.Position{Number: 2} }), lifecycle.Decision{Waiting: true}},
		"canceled in it":     {"It is an end.", ready(func(o *lifecycle.Observation) { o.Position, o.Suite.Spec.Cancel = &queue.Position{Number: 2}, true }), lifecycle.Decision{}},
		"at the front of it": {"Its Job comes first.", ready(func(o *lifecycle.Observation) { o.Position = &queue.Position{} }), lifecycle.Decision{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := decide(tc.o, t0)
			if got.Deferred != tc.want.Deferred || got.Waiting != tc.want.Waiting || got.Stuck != tc.want.Stuck {
				t.Errorf("%s Got deferred=%t waiting=%t stuck=%t.", tc.reason, got.Deferred, got.Waiting, got.Stuck)
			}
		})
	}
}
