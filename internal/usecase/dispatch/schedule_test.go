package dispatch

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// scheduled makes a notification that of a schedule, whose time is now.
func (h *harness) scheduled(t *v1alpha1.Trigger) func(*Request) {
	at := h.clock.Now().Truncate(time.Second)
	return func(r *Request) {
		r.IdempotencyKey = "schedule/" + at.Format(time.RFC3339)
		r.Origin = FromSchedule(t, at, noon)
	}
}

// TestSchedules: each time is tested, unless a run of the commit has not ended.
func TestSchedules(t *testing.T) {
	const a, b = `{"sha":"a","branch":"main"}`, `{"sha":"b","branch":"main"}`
	for name, tc := range map[string]struct {
		reason string
		policy v1alpha1.DuplicatePolicy
		steps  []step
		want   string
	}{
		"after CI":                      {"a result is no reason not to test again", v1alpha1.DuplicatesCommit, []step{{ci, a, "Passed"}, {first, a, ""}}, "cc"},
		"without a run":                 {"runs expire", v1alpha1.DuplicatesCommit, []step{{first, a, ""}}, "c"},
		"each time":                     {"each is tested", v1alpha1.DuplicatesCommit, []step{{first, a, "Passed"}, {first, a, "Failed"}, {first, a, "Error"}, {first, a, ""}}, "cccc"},
		"beside a run":                  {"it is the answer", v1alpha1.DuplicatesCommit, []step{{ci, a, ""}, {first, a, ""}}, "cd"},
		"beside that of the last time":  {"it takes long", v1alpha1.DuplicatesDeployment, []step{{first, a, ""}, {first, a, ""}, {first, a, ""}}, "cdd"},
		"beside one that is superseded": {"it has not ended", v1alpha1.DuplicatesCommit, []step{{ci, a, ""}, {ci, b, ""}, {first, a, ""}}, "ccd"},
		"the same time":                 {"it has a run", v1alpha1.DuplicatesRerunUnsuccessful, []step{{first, a, ""}, {again, a, "Failed"}, {again, a, ""}, {other, a, ""}}, "cddd"},
		"the same time, canceled":       {"somebody does not want it", v1alpha1.DuplicatesCommit, []step{{first, a, "Canceled"}, {again, a, ""}, {other, a, ""}}, "cdd"},
		"the same time, after CI":       {"the second attempt is its run", v1alpha1.DuplicatesCommit, []step{{ci, a, "Passed"}, {first, a, "Failed"}, {again, a, ""}, {other, a, ""}}, "ccdd"},
		"CI afterwards":                 {"the commit has a result", v1alpha1.DuplicatesCommit, []step{{first, a, "Passed"}, {ci, a, ""}}, "cd"},
		"after another deployment":      {"it was rolled back", v1alpha1.DuplicatesCommit, []step{{ci, a, "Passed"}, {ci, b, "Passed"}, {first, a, ""}}, "ccc"},
	} {
		t.Run(name, func(t *testing.T) {
			smoke := trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Duplicates = tc.policy })
			h := start(t, setup{objects: acme(smoke, trigger("other"))})
			got, runs := h.play(tc.steps, func(string) func(*Request) { return h.scheduled(smoke) })
			smokes := 0
			for _, s := range h.suites() {
				if s.Spec.Trigger.Name == "smoke" {
					smokes++
				}
				if !s.ScheduledFor().IsZero() && s.Status.NotifiedAgainAt != nil {
					t.Errorf("%s was notified again", s.Name)
				}
			}
			if got != tc.want || smokes != len(runs) {
				t.Errorf("%s: got %s and %d Suites, want %s", tc.reason, got, smokes, tc.want)
			}
		})
	}
}

// TestScheduleMarksItsRuns, and makes no run the newest of its stream.
func TestScheduleMarksItsRuns(t *testing.T) {
	smoke := trigger("smoke")
	h := start(t, setup{objects: acme(smoke)})
	id := h.notify(withSHA, h.scheduled(smoke)).Triggers[0].created()
	h.clock.SetTime(noon.Add(time.Minute))
	if got := h.notify(withSHA, h.scheduled(smoke)).Triggers[0].duplicate(); got != id {
		t.Fatalf("%s, want %s", got, id)
	}
	s := h.suites()[0]
	if !s.ScheduledFor().Equal(noon.Truncate(time.Second)) || s.Spec.Origin != v1alpha1.OriginSchedule || s.Status.NotifiedAgainAt != nil || s.Status.NotifiedAgainBy != "" {
		t.Errorf("%s, notified again %v by %q", s.ScheduledFor(), s.Status.NotifiedAgainAt, s.Status.NotifiedAgainBy)
	}
}

// TestScheduleForMonths: the runs of a commit that stays deployed are deleted after a while, and their attempts still differ.
func TestScheduleForMonths(t *testing.T) {
	smoke := trigger("smoke")
	h := start(t, setup{objects: acme(smoke)})
	for night := range 100 {
		h.clock.SetTime(noon.Add(time.Duration(night) * 24 * time.Hour))
		result := h.notify(withSHA, h.scheduled(smoke)).Triggers[0]
		if result.created() == "" {
			t.Fatalf("night %d: %s, %s", night, result.Decision, result.Reason)
		}
		h.finish(result.SuiteID, "", "Passed")
		for _, s := range h.suites() {
			if s.Spec.Attempt <= int32(night)-6 {
				if err := h.cluster.Delete(context.Background(), &s); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if got := len(h.suites()); got != 7 {
		t.Errorf("%d Suites", got)
	}
}

// TestScheduleBesideAnEarlierAttempt: an attempt that still stops is a run of the commit, even if a later one has ended.
func TestScheduleBesideAnEarlierAttempt(t *testing.T) {
	smoke := trigger("smoke")
	h := start(t, setup{objects: acme(smoke)})
	first := h.notify(withSHA).Triggers[0].created()
	s := h.suites()[0]
	second := s.DeepCopy()
	second.ObjectMeta = metav1.ObjectMeta{Namespace: s.Namespace, Name: "second"}
	second.Spec.Attempt = 2
	if err := h.cluster.Create(context.Background(), second); err != nil {
		t.Fatal(err)
	}
	h.finish("second", "", "Passed")
	if got := h.notify(withSHA, h.scheduled(smoke)).Triggers[0].duplicate(); got != first {
		t.Errorf("the answer is %q, want %q", got, first)
	}
}
