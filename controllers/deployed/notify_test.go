package deployed

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
)

// outcomes of notifications, by repository. Those of others fail.
type outcomes map[string]Outcome

func (o outcomes) Notify(_ context.Context, _ *v1alpha1.Team, n *notification.Notification, _ Rollout) (Outcome, bool) {
	outcome, ok := o[n.Repository]
	return outcome, ok
}

// TestNotify: each pending notification is made if the stored status has it, and the Environment is looked at again while one is left.
func TestNotify(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	of := func(repository, sha string, n v1alpha1.RolloutNotification) v1alpha1.Deployed {
		return v1alpha1.Deployed{Repository: repository, SHA: sha, Since: &noon, Notification: n}
	}
	const pending, sent = v1alpha1.NotificationPending, v1alpha1.NotificationSent
	type all = []v1alpha1.Deployed
	good := outcomes{"good": {}, "well": {}}
	for name, tc := range map[string]struct {
		was, is all
		calls   outcomes
		want    []v1alpha1.RolloutNotification
		again   time.Duration
	}{
		"nothing":                 {all{of("good", "a", sent)}, all{of("good", "a", sent)}, good, []v1alpha1.RolloutNotification{sent}, 0},
		"stored":                  {all{of("good", "a", pending)}, all{of("good", "a", pending)}, good, []v1alpha1.RolloutNotification{sent}, 0},
		"not stored":              {all{of("good", "a", "")}, all{of("good", "a", pending)}, good, []v1alpha1.RolloutNotification{pending}, time.Millisecond},
		"stored of another":       {all{of("good", "b", pending)}, all{of("good", "a", pending)}, good, []v1alpha1.RolloutNotification{pending}, time.Millisecond},
		"never seen":              {nil, all{of("good", "a", pending)}, good, []v1alpha1.RolloutNotification{pending}, time.Millisecond},
		"fails":                   {all{of("bad", "a", pending)}, all{of("bad", "a", pending)}, good, []v1alpha1.RolloutNotification{pending}, notifyRetry},
		"fails beside a good one": {all{of("bad", "a", pending), of("good", "a", pending)}, all{of("bad", "a", pending), of("good", "a", pending)}, good, []v1alpha1.RolloutNotification{pending, sent}, notifyRetry},
		"fails after a good one":  {all{of("good", "a", pending), of("bad", "a", pending)}, all{of("good", "a", pending), of("bad", "a", pending)}, good, []v1alpha1.RolloutNotification{sent, pending}, notifyRetry},
		"fails beside a new one":  {all{of("bad", "a", pending)}, all{of("good", "a", pending), of("bad", "a", pending)}, good, []v1alpha1.RolloutNotification{pending, pending}, time.Millisecond},
		"two":                     {all{of("good", "a", pending), of("well", "a", pending)}, all{of("good", "a", pending), of("well", "a", pending)}, good, []v1alpha1.RolloutNotification{sent, sent}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{Notifier: tc.calls, Recorder: events.NewFakeRecorder(10)}
			was := &v1alpha1.Environment{Status: v1alpha1.EnvironmentStatus{Deployed: tc.was}}
			is := &v1alpha1.Environment{Status: v1alpha1.EnvironmentStatus{Deployed: tc.is}}
			again := r.notify(t.Context(), workloads.Observed{Environment: was, Team: &v1alpha1.Team{}}, is)
			var got []v1alpha1.RolloutNotification
			for _, d := range is.Status.Deployed {
				got = append(got, d.Notification)
			}
			if again != tc.again || !slices.Equal(got, tc.want) {
				t.Errorf("%v, again after %s; want %v, %s", got, again, tc.want, tc.again)
			}
		})
	}
}

// TestRolloutEvent: an event says what came of a rollout.
func TestRolloutEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		outcome Outcome
		want    string
	}{
		"started":  {Outcome{Started: []string{"r1", "r2"}}, "Normal RolledOut 5ca1ab1e was rolled out. Started r1, r2."},
		"existing": {Outcome{Started: []string{"r1"}, Existing: []string{"r2"}}, "Normal RolledOut 5ca1ab1e was rolled out. Started r1. These runs test it already: r2."},
		"nothing":  {Outcome{}, "Normal RolledOut 5ca1ab1e was rolled out. No Trigger of the Environment matches."},
		"problems": {Outcome{Started: []string{"r1"}, Problems: []string{"Trigger a: It is bad.", "Trigger b: It is too."}},
			"Warning RolledOut 5ca1ab1e was rolled out. Started r1. Trigger a: It is bad. Trigger b: It is too."},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(1)
			r := &Reconciler{Recorder: recorder}
			r.record(&v1alpha1.Environment{}, v1alpha1.Deployed{SHA: "5ca1ab1e"}, tc.outcome)
			if diff := cmp.Diff(tc.want, <-recorder.Events); diff != "" {
				t.Error(diff)
			}
		})
	}
}
