package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	deployedcontroller "github.com/postflight-dev/postflight/controllers/deployed"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// bell is a Notifier that takes down what it is called with.
type bell struct {
	mu     sync.Mutex
	rings  []ring
	answer func(ctx context.Context, number int) bool // numbers count from 1; nil: it succeeds
}

type ring struct{ sha, key string }

func (b *bell) Notify(
	ctx context.Context, team *v1alpha1.Team, n *notification.Notification, r deployedcontroller.Rollout,
) (deployedcontroller.Outcome, bool) {
	b.mu.Lock()
	b.rings = append(b.rings, ring{n.SHA, r.Key})
	number, answer := len(b.rings), b.answer
	b.mu.Unlock()
	if team == nil || r.Environment != "staging" {
		return deployedcontroller.Outcome{}, false
	}
	return deployedcontroller.Outcome{Started: []string{fmt.Sprintf("run-%d", number)}}, answer == nil || answer(ctx, number)
}

func (b *bell) answers(answer func(ctx context.Context, number int) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

func (b *bell) all() []ring {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.rings)
}

// commits is what was notified, in order.
func (b *bell) commits() (all []string) {
	for _, r := range b.all() {
		all = append(all, r.sha)
	}
	return all
}

// notifyingWorld has a Deployment web of commit 1, which an Environment has seen complete.
func notifyingWorld(t *testing.T) (w *world, staging *v1alpha1.Environment, web *appsv1.Deployment) {
	t.Helper()
	w = emptyWorld(t)
	w.bell = &bell{}
	w.hasTeam()
	w.grant("ClusterRole", workloadsReader)
	staging, web = anEnvironment("staging"), aDeployment("web", commit(1))
	w.create(staging, web)
	w.startManager()
	w.rollsOut(web)
	w.names(staging, v1alpha1.Workload{Name: "web", Repository: "acme/shop", Notify: true})
	w.has(staging, commit(1)+" true")
	return w, staging, web
}

// rollsOutCommit a minute after whatever was before.
func (w *world) rollsOutCommit(d *appsv1.Deployment, n int) {
	w.t.Helper()
	w.clock.moveOn(time.Minute)
	w.change(d, func(o client.Object) { isOf(o.(*appsv1.Deployment), commit(n)) })
	w.rollsOut(d)
}

// notified waits until the status says so of a commit.
func (w *world) notified(e *v1alpha1.Environment, n int, want v1alpha1.RolloutNotification) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the notification of %s is %q", commit(n), want), func() string {
		w.must(w.Client.Get(context.Background(), w.key(e.Name), e))
		if d := e.Status.Deployed[0]; d.SHA != commit(n) || d.Notification != want {
			return fmt.Sprintf("%s %q", d.SHA, d.Notification)
		}
		return ""
	})
}

// looksAgain waits until the manager has looked at the Environment once more.
func (w *world) looksAgain(e *v1alpha1.Environment) {
	w.t.Helper()
	w.change(e, func(o client.Object) {
		named := &o.(*v1alpha1.Environment).Spec.Workloads[0]
		named.Branch = &v1alpha1.WorkloadValue{Value: fmt.Sprintf("b%d", o.GetGeneration())}
	})
	w.eventually("the manager has seen the change of the Environment", func() string {
		w.must(w.Client.Get(context.Background(), w.key(e.Name), e))
		if e.Status.ObservedGeneration != e.Generation {
			return fmt.Sprintf("%d of %d", e.Status.ObservedGeneration, e.Generation)
		}
		return ""
	})
}

// notes are those of the events of an Environment.
func (w *world) notes(e *v1alpha1.Environment) (all []string) {
	w.t.Helper()
	list := &eventsv1.EventList{}
	w.must(w.Client.List(context.Background(), list, client.InNamespace(w.ns)))
	for _, event := range list.Items {
		if event.Regarding.Kind == "Environment" && event.Regarding.Name == e.Name {
			all = append(all, event.Type+" "+event.Reason+": "+event.Note)
		}
	}
	slices.Sort(all)
	return all
}

// TestRolloutsAreNotified once each: not when the Environment names the workload, nor for a restart, nor after all runs have expired and the
// manager was restarted.
func TestRolloutsAreNotified(t *testing.T) {
	t.Parallel()
	w, staging, web := notifyingWorld(t)
	w.notified(staging, 1, "")
	w.rollsOutCommit(web, 2)
	w.notified(staging, 2, v1alpha1.NotificationSent)
	w.clock.moveOn(time.Minute)
	w.change(web, func(o client.Object) {
		o.(*appsv1.Deployment).Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
	})
	w.has(staging, commit(2)+" false")
	w.rollsOut(web)
	w.has(staging, commit(2)+" true")
	w.rollsOutCommit(web, 1)
	w.notified(staging, 1, v1alpha1.NotificationSent)

	w.create(aSuite("run", 0))
	w.must(w.Client.DeleteAllOf(context.Background(), &v1alpha1.Suite{}, client.InNamespace(w.ns)))
	w.stop()
	w.startManager()
	w.looksAgain(staging)
	w.notified(staging, 1, v1alpha1.NotificationSent)

	w.rollsOutCommit(web, 2)
	w.notified(staging, 2, v1alpha1.NotificationSent)
	if diff := cmp.Diff([]string{commit(2), commit(1), commit(2)}, w.bell.commits()); diff != "" {
		t.Fatal(diff)
	}
	rings := w.bell.all()
	if rings[0].key == rings[2].key || rings[0].key == rings[1].key {
		t.Errorf("rollouts have one key: %+v", rings)
	}
	want := []string{
		"Normal RolledOut: " + commit(1) + " was rolled out. Started run-2.",
		"Normal RolledOut: " + commit(2) + " was rolled out. Started run-1.",
		"Normal RolledOut: " + commit(2) + " was rolled out. Started run-3.",
	}
	w.eventually("each rollout has an event", func() string { return cmp.Diff(want, w.notes(staging)) })
}

// TestRolloutWhileTheManagerIsOff is noticed when it starts.
func TestRolloutWhileTheManagerIsOff(t *testing.T) {
	t.Parallel()
	w, staging, web := notifyingWorld(t)
	w.stop()
	w.rollsOutCommit(web, 2)
	w.startManager()
	w.notified(staging, 2, v1alpha1.NotificationSent)
	if diff := cmp.Diff([]string{commit(2)}, w.bell.commits()); diff != "" {
		t.Error(diff)
	}
}

// TestNotificationIsRepeated with the same key until it succeeds: after failures, and by the next manager if one ends before the call has had
// an effect, or before its success is stored.
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
			w.bell.answers(tc.answer)
			w.rollsOutCommit(web, 2)
			w.eventually("the notification is made", func() string {
				if len(w.bell.all()) == 0 {
					return "it is not"
				}
				return ""
			})
			if tc.restart {
				w.notified(staging, 2, v1alpha1.NotificationPending)
				w.stop()
				w.notified(staging, 2, v1alpha1.NotificationPending)
				w.bell.answers(nil)
				w.change(web, func(o client.Object) { o.(*appsv1.Deployment).Spec.Template.Labels["again"] = "rolling" })
				w.startManager()
			}
			w.notified(staging, 2, v1alpha1.NotificationSent)
			made := len(w.bell.all())
			w.rollsOutCommit(web, 3)
			w.bell.answers(nil)
			w.notified(staging, 3, v1alpha1.NotificationSent)
			rings := w.bell.all()
			if made < 2 || len(rings) != made+1 {
				t.Fatalf("%+v, of which %d before the next rollout", rings, made)
			}
			for _, r := range rings[:made] {
				if r != rings[0] || !strings.HasPrefix(r.key, "rollout/") {
					t.Errorf("%+v, and then %+v", rings[0], r)
				}
			}
		})
	}
}
