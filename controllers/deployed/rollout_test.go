package deployed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/world"
)

// notifyingWorld has a Deployment web of commit 1, which an Environment has seen complete.
func notifyingWorld(t *testing.T) (w *world.World, staging *v1alpha1.Environment, web *appsv1.Deployment) {
	t.Helper()
	w = world.Empty(t)
	w.Notifier = &world.Notifier{}
	w.HasTeam()
	w.Grant("ClusterRole", world.WorkloadsReader)
	staging, web = build.Environment("staging"), build.Deployment("web", build.Commit(1))
	w.Create(staging, web)
	w.StartManager()
	w.RollsOut(web)
	w.NamesWorkloads(staging, v1alpha1.Workload{Name: "web", Repository: "acme/shop", Notify: true})
	w.HasDeployed(staging, build.Commit(1)+" true")
	return w, staging, web
}

// notified waits until the status says so of a commit.
func notified(w *world.World, e *v1alpha1.Environment, n int, want v1alpha1.RolloutNotification) {
	w.T.Helper()
	w.Await(fmt.Sprintf("the notification of %s is %q", build.Commit(n), want), e, func() bool {
		return e.Status.Deployed[0].SHA == build.Commit(n) && e.Status.Deployed[0].Notification == want
	})
}

// looksAgain waits until the manager has looked at the Environment once more.
func looksAgain(w *world.World, e *v1alpha1.Environment) {
	w.T.Helper()
	w.Change(e, func(o client.Object) {
		named := &o.(*v1alpha1.Environment).Spec.Workloads[0]
		named.Branch = &v1alpha1.WorkloadValue{Value: fmt.Sprintf("b%d", o.GetGeneration())}
	})
	w.Await("the manager has seen the change of the Environment", e, func() bool { return e.Status.ObservedGeneration == e.Generation })
}

// TestRolloutsAreNotified once each: not when the Environment names the workload, nor for a restart, nor after all runs have expired and
// the manager was restarted.
func TestRolloutsAreNotified(t *testing.T) {
	t.Parallel()
	w, staging, web := notifyingWorld(t)
	notified(w, staging, 1, "")
	w.RollsOutCommit(web, 2)
	notified(w, staging, 2, v1alpha1.NotificationSent)
	w.Clock.MoveOn(time.Minute)
	w.Change(web, func(o client.Object) {
		o.(*appsv1.Deployment).Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
	})
	w.HasDeployed(staging, build.Commit(2)+" false")
	w.RollsOut(web)
	w.HasDeployed(staging, build.Commit(2)+" true")
	w.RollsOutCommit(web, 1)
	notified(w, staging, 1, v1alpha1.NotificationSent)

	w.Create(build.Suite("run", 0))
	w.Must(w.Client.DeleteAllOf(context.Background(), &v1alpha1.Suite{}, client.InNamespace(w.NS)))
	w.Stop()
	w.StartManager()
	looksAgain(w, staging)
	notified(w, staging, 1, v1alpha1.NotificationSent)

	w.RollsOutCommit(web, 2)
	notified(w, staging, 2, v1alpha1.NotificationSent)
	if diff := cmp.Diff([]string{build.Commit(2), build.Commit(1), build.Commit(2)}, w.Notifier.Commits()); diff != "" {
		t.Fatal(diff)
	}
	rings := w.Notifier.All()
	if rings[0].Key == rings[2].Key || rings[0].Key == rings[1].Key {
		t.Errorf("rollouts have one key: %+v", rings)
	}
	want := []string{
		"Normal RolledOut: " + build.Commit(1) + " was rolled out. Started run-2.",
		"Normal RolledOut: " + build.Commit(2) + " was rolled out. Started run-1.",
		"Normal RolledOut: " + build.Commit(2) + " was rolled out. Started run-3.",
	}
	w.Eventually("each rollout has an event", func() string { return cmp.Diff(want, slices.Sorted(slices.Values(w.Events(staging)))) })
}

// TestRolloutWhileTheManagerIsOff is noticed when it starts.
func TestRolloutWhileTheManagerIsOff(t *testing.T) {
	t.Parallel()
	w, staging, web := notifyingWorld(t)
	w.Stop()
	w.RollsOutCommit(web, 2)
	w.StartManager()
	notified(w, staging, 2, v1alpha1.NotificationSent)
	if diff := cmp.Diff([]string{build.Commit(2)}, w.Notifier.Commits()); diff != "" {
		t.Error(diff)
	}
}

// TestNotificationIsRepeated with the same key until it succeeds: after failures, and by the next manager if one ends before the call has
// had an effect, or before its success is stored.
func TestNotificationIsRepeated(t *testing.T) {
	t.Parallel()
	// A call that waits ends when the manager does, or takes too long, which is a failure.
	untilTheEnd := func(ctx context.Context) (ended bool) {
		<-ctx.Done()
		return errors.Is(ctx.Err(), context.Canceled)
	}
	for name, tc := range map[string]struct {
		answer  func(ctx context.Context, number int) bool
		restart bool
	}{
		"after a failure": {func(_ context.Context, number int) bool { return number > 1 }, false},
		"after an end before the call": {func(ctx context.Context, _ int) bool {
			untilTheEnd(ctx)
			return false
		}, true},
		"after an end before the write": {func(ctx context.Context, _ int) bool { return untilTheEnd(ctx) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, staging, web := notifyingWorld(t)
			w.Notifier.Answers(tc.answer)
			w.RollsOutCommit(web, 2)
			poll.True(t, "the notification is made", func() bool { return len(w.Notifier.All()) > 0 })
			if tc.restart {
				notified(w, staging, 2, v1alpha1.NotificationPending)
				w.Stop()
				notified(w, staging, 2, v1alpha1.NotificationPending)
				w.Notifier.Answers(nil)
				w.Change(web, func(o client.Object) { o.(*appsv1.Deployment).Spec.Template.Labels["again"] = "rolling" })
				w.StartManager()
			}
			notified(w, staging, 2, v1alpha1.NotificationSent)
			made := len(w.Notifier.All())
			w.RollsOutCommit(web, 3)
			w.Notifier.Answers(nil)
			notified(w, staging, 3, v1alpha1.NotificationSent)
			rings := w.Notifier.All()
			if made < 2 || len(rings) != made+1 {
				t.Fatalf("%+v, of which %d before the next rollout", rings, made)
			}
			for _, r := range rings[:made] {
				if r != rings[0] || !strings.HasPrefix(r.Key, "rollout/") {
					t.Errorf("%+v, and then %+v", rings[0], r)
				}
			}
		})
	}
}
