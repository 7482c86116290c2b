package runtrace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(d)} }

// suite was received at noon, and ended a minute later.
func suite(end metav1.Condition, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	received := metav1.NewMicroTime(noon)
	return build.With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke-1", UID: "u", CreationTimestamp: metav1.NewTime(noon),
			Annotations: map[string]string{v1alpha1.AnnotationTraceparent: parent}},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging", ReceivedAt: &received,
			Deployment: v1alpha1.Deployment{Branch: "main", SHA: "5ca1ab1e"},
		},
		Status: v1alpha1.SuiteStatus{
			Conditions: []metav1.Condition{end}, JobName: "smoke-1", StartTime: after(20 * time.Second), CompletionTime: after(time.Minute),
		},
	}, change...)
}

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		text, want string
	}{
		"sampled":             {parent, parent},
		"not sampled":         {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"},
		"other flags":         {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03", parent},
		"empty":               {"", ""},
		"another version":     {"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", ""},
		"no trace":            {"00-00000000000000000000000000000000-b7ad6b7169203331-01", ""},
		"no span":             {"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", ""},
		"upper case":          {"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", ""},
		"short":               {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b71692033-01", ""},
		"flags are no number": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-zz", ""},
		"a sign for flags":    {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-+1", ""},
		"something after it":  {parent + "-x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			sc, ok := Parse(tc.text)
			if !ok && tc.want == "" {
				return
			}
			if got := Format(sc); got != tc.want || !ok {
				t.Errorf("%q, %v; want %q", got, ok, tc.want)
			}
		})
	}
}

// step is a Span in short: seconds after noon.
type step struct {
	Name       string
	Start, End float64
	Error      string
}

func TestSpans(t *testing.T) {
	passed, failed := v1alpha1.Passed("All tests passed."), v1alpha1.Failed("Exit code 1.")
	created := noon.Add(5 * time.Second)
	for name, tc := range map[string]struct {
		reason string
		suite  *v1alpha1.Suite
		job    time.Time
		want   []step
	}{
		"passed": {"Each step ends where the next begins.", suite(passed), created,
			[]step{{"run smoke", 0, 60, ""}, {"queue", 0, 5, ""}, {"start", 5, 20, ""}, {"tests", 20, 60, ""}}},
		"failed": {"The run has the message, and its steps have worked.", suite(failed), created,
			[]step{{"run smoke", 0, 60, "Exit code 1."}, {"queue", 0, 5, ""}, {"start", 5, 20, ""}, {"tests", 20, 60, ""}}},
		"superseded in the queue": {"There was no Job.",
			suite(v1alpha1.Superseded("By smoke-2."), func(s *v1alpha1.Suite) { s.Status.StartTime = nil }), time.Time{},
			[]step{{"run smoke", 0, 60, "By smoke-2."}, {"queue", 0, 60, ""}}},
		"never started": {"Its tests did not run.",
			suite(v1alpha1.Error("No image."), func(s *v1alpha1.Suite) { s.Status.StartTime = nil }), created,
			[]step{{"run smoke", 0, 60, "No image."}, {"queue", 0, 5, ""}, {"start", 5, 60, ""}}},
		"rounded": {"The Job seems to be older than the notification, because its time has whole seconds.",
			suite(passed, func(s *v1alpha1.Suite) {
				received := metav1.NewMicroTime(noon.Add(900 * time.Millisecond))
				s.Spec.ReceivedAt, s.Status.StartTime = &received, after(0)
			}), noon,
			[]step{{"run smoke", .9, 60, ""}, {"queue", .9, .9, ""}, {"start", .9, .9, ""}, {"tests", .9, 60, ""}}},
		"ended at once": {"The end has whole seconds too.",
			suite(passed, func(s *v1alpha1.Suite) {
				received := metav1.NewMicroTime(noon.Add(900 * time.Millisecond))
				s.Spec.ReceivedAt, s.Status.StartTime, s.Status.CompletionTime = &received, after(0), after(0)
			}), noon,
			[]step{{"run smoke", .9, .9, ""}, {"queue", .9, .9, ""}, {"start", .9, .9, ""}, {"tests", .9, .9, ""}}},
		"not ended": {"Its spans are sent once.", suite(v1alpha1.Running("Tests."), func(s *v1alpha1.Suite) { s.Status.CompletionTime = nil }), created, nil},
		"no trace":  {"There is none without the annotation.", suite(passed, func(s *v1alpha1.Suite) { s.Annotations = nil }), created, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []step
			spans := Spans(tc.suite, tc.job)
			for i, s := range spans {
				got = append(got, step{s.Name, s.Start.Sub(noon).Seconds(), s.End.Sub(noon).Seconds(), s.Error})
				if i > 0 && s.Parent != spans[0].ID || i == 0 && s.Parent.String() != "b7ad6b7169203331" {
					t.Errorf("%s has the parent %s", s.Name, s.Parent)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSpanIDs: the tests get the id of a span that is sent only after their end, by whichever leader there is then.
func TestSpanIDs(t *testing.T) {
	s := suite(v1alpha1.Passed(""))
	given := ContextOfTests(s)
	for _, span := range Spans(s, noon) {
		if span.Name == "tests" && given == "00-0af7651916cd43dd8448eb211c80319c-"+span.ID.String()+"-01" {
			s.UID = "another"
			if ContextOfTests(s) == given {
				t.Errorf("another run has the same ids")
			}
			return
		}
	}
	t.Errorf("no span of the run has the id in %q", given)
}

func TestAttributes(t *testing.T) {
	got := map[string]string{}
	for _, a := range Spans(suite(v1alpha1.TimedOut("")), noon)[0].Attributes {
		got[string(a.Key)] = a.Value.String()
	}
	want := map[string]string{
		"cicd.pipeline.name": "smoke", "cicd.pipeline.run.id": "smoke-1", "cicd.pipeline.result": "timeout", "deployment.environment.name": "staging",
		"k8s.namespace.name": "acme", "k8s.job.name": "smoke-1", "vcs.ref.head.revision": "5ca1ab1e", "vcs.ref.head.name": "main",
		"postflight.state": "TimedOut", "postflight.attempt": "1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
