package rerun_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
)

// TestSuccessorOf: a successor is of the same notification and deployment, so that a later one is newer, whenever it is created.
func TestSuccessorOf(t *testing.T) {
	s := aSuite("a", 0, commit("a"), notifiedBy("request"))
	for _, after := range []time.Duration{10 * time.Second, time.Hour} {
		next, problem := rerun.SuccessorOf(s, aTrigger(), v1alpha1.OriginRepetition, aLedger(s), t0.Add(after))
		if problem != "" || next.Received().Sub(t0.Add(after)) < -v1alpha1.MaxReceiptAge || next.Spec.Attempt != 2 || next.Annotations[v1alpha1.AnnotationRepeats] != "a" ||
			next.Annotations[v1alpha1.AnnotationRequestID] != "request" || next.Annotations[v1alpha1.AnnotationRerunBy] != "" || ledger.IsDeployment(next) {
			t.Errorf("%q %+v", problem, next)
		}
		next.CreationTimestamp = metav1.NewTime(t0.Add(after))
		if ledger.Compare(next, s) <= 0 || next.Restored() {
			t.Error("the run would supersede its successor")
		}
		if newer := aSuite("b", 1, commit("b")); ledger.Compare(newer, next) <= 0 {
			t.Error("a newer deployment counts as older")
		}
	}
	if _, problem := rerun.SuccessorOf(s, nil, v1alpha1.OriginRepetition, aLedger(s), t0); !strings.Contains(problem, "does not exist any more") {
		t.Errorf("%q", problem)
	}
}

// TestSuccessorWithinASecond: the status has whole seconds, and another rollout may follow the successor in the second of its own.
func TestSuccessorWithinASecond(t *testing.T) {
	rollout := func(s *v1alpha1.Suite) { s.Spec.Origin = v1alpha1.OriginRollout }
	first, end, following := aSuite("a", 0, commit("a"), rollout), t0.Add(1200*time.Millisecond), t0.Add(1500*time.Millisecond)
	e := anEnvironment()
	e.Status.Deployed = []v1alpha1.Deployed{{SHA: "a", Since: &metav1.Time{Time: t0.Add(time.Second)}, Workloads: []v1alpha1.DeployedWorkload{{Name: "shop"}}}}
	l := ledger.Of(e, []*v1alpha1.Suite{first})
	successor, _ := rerun.SuccessorOf(first, aTrigger(), v1alpha1.OriginRepetition, l, end)
	asked := aSuite("a", 0, commit("a"))
	if problem := rerun.SetDeployed(asked, first, l, end); problem != "" {
		t.Fatal(problem)
	}
	next := aSuite("b", 0, commit("b"), rollout, func(s *v1alpha1.Suite) { s.Spec.ReceivedAt = &metav1.MicroTime{Time: following} })
	for _, s := range []*v1alpha1.Suite{successor, asked, next} {
		s.CreationTimestamp = metav1.NewTime(t0.Add(time.Second))
	}
	if ledger.Compare(successor, next) >= 0 || ledger.Compare(asked, next) >= 0 || ledger.Compare(successor, first) <= 0 {
		t.Errorf("%s and %s are not before %s", successor.DeployedAt(), asked.DeployedAt(), next.DeployedAt())
	}
	if rerun.SetDeployed(asked, first, l, t0.Add(-time.Hour)); !asked.Spec.DeployedAt.Equal(&metav1.MicroTime{Time: t0.Add(time.Second)}) {
		t.Errorf("a clock of an hour ago: %s", asked.Spec.DeployedAt)
	}
}

// TestSuccessorProblem: the result of no other Suite answers for a run.
func TestSuccessorProblem(t *testing.T) {
	run := aSuite("a", 0, commit("a"), notifiedBy("request"))
	run.Spec.Trigger.UID = aTrigger().UID
	next, _ := rerun.SuccessorOf(run, aTrigger(), v1alpha1.OriginRepetition, aLedger(run), t0)
	passed, byNotification := inState(v1alpha1.Passed("")), func(s *v1alpha1.Suite) {
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
			if got := rerun.SuccessorProblem(existing, next, run); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: %q", tc.reason, got)
			}
		})
	}
}
