package view_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view"
)

func TestScheduleOfTrigger(t *testing.T) {
	three := metav1.NewTime(time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC))
	nightly := &v1alpha1.TriggerSchedule{Cron: "0 3 * * *"}
	for name, tc := range map[string]struct {
		spec   *v1alpha1.TriggerSchedule
		status *v1alpha1.ScheduleStatus
		want   *view.Schedule
	}{
		"none":     {nil, nil, nil},
		"paused":   {nightly, nil, &view.Schedule{Times: "0 3 * * * UTC"}},
		"waiting":  {nightly, &v1alpha1.ScheduleStatus{NextTime: &three}, &view.Schedule{Times: "0 3 * * * UTC", Next: "Wed 25 Nov, 03:00 UTC"}},
		"in Tokyo": {&v1alpha1.TriggerSchedule{Cron: "0 12 * * *", TimeZone: "Asia/Tokyo"}, &v1alpha1.ScheduleStatus{NextTime: &three}, &view.Schedule{Times: "0 12 * * * Asia/Tokyo", Next: "Wed 25 Nov, 03:00 UTC"}},
		"no run":   {nightly, &v1alpha1.ScheduleStatus{LastTime: &three, Message: "It is bad."}, &view.Schedule{Times: "0 3 * * * UTC", Problem: "Wed 25 Nov, 03:00 UTC: not all runs were started. It is bad."}},
	} {
		t.Run(name, func(t *testing.T) {
			trigger := &v1alpha1.Trigger{Spec: v1alpha1.TriggerSpec{Schedule: tc.spec}, Status: v1alpha1.TriggerStatus{Schedule: tc.status}}
			if diff := cmp.Diff(tc.want, view.TriggerOf(trigger, nil, noon).Schedule); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOnlyScheduled(t *testing.T) {
	only := &v1alpha1.Trigger{Spec: v1alpha1.TriggerSpec{Schedule: &v1alpha1.TriggerSchedule{Cron: "0 3 * * *", Only: true}, Match: v1alpha1.TriggerMatch{Branches: []string{"main"}}}}
	want := []view.Condition{{Name: "notifications", Values: []string{"none, only the schedule"}}, {Name: "branch", Values: []string{"main"}}}
	if diff := cmp.Diff(want, view.TriggerOf(only, nil, noon).Matches); diff != "" {
		t.Error(diff)
	}
}

// TestStartedBy says who asked for a run.
func TestStartedBy(t *testing.T) {
	for want, change := range map[string]func(*v1alpha1.Suite){
		"a notification": func(s *v1alpha1.Suite) { s.Spec.Origin = v1alpha1.OriginNotification },
		"the schedule of the Trigger, for 2026-11-25T03:00:00Z": func(s *v1alpha1.Suite) {
			s.Spec.Origin, s.Annotations = v1alpha1.OriginSchedule, map[string]string{v1alpha1.AnnotationScheduledFor: "2026-11-25T04:00:00+01:00"}
		},
		"a rerun, requested by kim":                      func(s *v1alpha1.Suite) { s.Annotations = map[string]string{v1alpha1.AnnotationRerunBy: "kim"} },
		"a person or a tool that created the Suite":      func(s *v1alpha1.Suite) {},
		"Postflight, because what was tested changed":    func(s *v1alpha1.Suite) { s.Spec.Origin = v1alpha1.OriginRepetition },
		"an event of a code host or a GitOps controller": func(s *v1alpha1.Suite) { s.Spec.Origin = v1alpha1.OriginEvent },
	} {
		s := &v1alpha1.Suite{}
		change(s)
		if got := view.RunOf(view.Subject{Suite: s}, noon).StartedBy; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
