package controllers_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/results"
)

// notes are the lines of notifications in a store, one object for each.
type notes struct {
	mu     sync.Mutex
	lines  []record.Notification
	more   bool
	broken error // of lists
	damage error // of objects
}

func (n *notes) NotificationsOn(_ context.Context, _ string, day time.Time, _ int) (all []record.NotificationsObject, more bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range n.lines {
		if line.At.UTC().Truncate(24 * time.Hour).Equal(day) {
			all = append(all, record.NotificationsObject{Key: line.SHA, Hour: line.At.UTC().Truncate(time.Hour)})
		}
	}
	return all, n.more, n.broken
}

func (n *notes) Notifications(_ context.Context, o record.NotificationsObject) (found []record.Notification, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range n.lines {
		if line.SHA == o.Key {
			found = append(found, line)
		}
	}
	return found, n.damage
}

func (n *notes) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// notedWorld also keeps notifications.
func notedWorld(t *testing.T) (*world, *notes) {
	t.Helper()
	n := &notes{}
	w := emptyWorld(t)
	w.reports, w.noted = &reports{byRun: map[string]results.Document{}}, n
	w.hasTeam()
	w.create(anEnvironment("staging"), aTrigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.Results = &v1alpha1.Results{MinTests: 120} }))
	w.startManager()
	return w, n
}

// repeated is a run whose failed tests have passed in a second one, of which it returns the name.
func (w *world) repeated() string {
	w.t.Helper()
	now := metav1.NewMicroTime(w.clock.Now())
	next := w.repeatsFailed(w.ran120("run", func(s *v1alpha1.Suite) { s.Spec.ReceivedAt = &now }))
	w.runs(next)
	w.ranTests(next, []int{7, 8, 9})
	return next
}

func notified(sha string, at time.Time) record.Notification {
	return record.Notification{At: at, Way: record.WayAPI, Branch: "hotfix", SHA: sha}
}

// TestRedeployedWithoutASuite: a deployment that no Trigger matched makes the repetition no gate, as soon as the other replicas have noted it.
func TestRedeployedWithoutASuite(t *testing.T) {
	t.Parallel()
	w, notes := notedWorld(t)
	w.clock.stop() // on a slow machine, they would have
	next := w.repeated()
	w.reaches(next, v1alpha1.ReasonRunning, "Whether something else was deployed meanwhile is known in a few seconds.")
	notes.set(func() { notes.lines = append(notes.lines, notified("b776998a", w.clock.Now().Add(30*time.Second))) })
	w.clock.moveOn(time.Minute)
	w.touch(next)
	w.reaches(next, v1alpha1.ReasonInconclusive, "After the run run, the commit b776998a was notified, so that it may have been deployed to the Environment. "+
		"Repeat all tests: postflight runs rerun run")
}

// TestNothingRedeployed: what was notified before, or is the commit of the run, changes nothing.
func TestNothingRedeployed(t *testing.T) {
	t.Parallel()
	w, notes := notedWorld(t)
	notes.set(func() {
		notes.lines = []record.Notification{notified("b776998a", w.clock.Now().Add(-time.Minute)), notified("5ca1ab1e", w.clock.Now().Add(time.Minute))}
	})
	next := w.repeated()
	w.clock.moveOn(2 * time.Minute)
	w.touch(next)
	w.reaches(next, v1alpha1.ReasonPassed, "3 failed tests of run passed; the other 117 passed there.")
}

// TestRedeployedIsNotKnown: the run waits for the store, but not forever.
func TestRedeployedIsNotKnown(t *testing.T) {
	t.Parallel()
	w, notes := notedWorld(t)
	notes.set(func() { notes.broken = errors.New("connection refused") })
	w.clock.moveOn(time.Minute)
	next := w.repeated()
	w.reaches(next, v1alpha1.ReasonRunning, "Whether something else was deployed meanwhile cannot be read: connection refused.")
	w.clock.moveOn(10 * time.Minute)
	w.touch(next)
	w.reaches(next, v1alpha1.ReasonInconclusive, "because it cannot be read: connection refused. Repeat all tests: postflight runs rerun run")
}

// TestDamagedNotifications: a damaged object does not become whole, so that the run does not wait for it.
func TestDamagedNotifications(t *testing.T) {
	t.Parallel()
	w, notes := notedWorld(t)
	notes.set(func() {
		notes.lines, notes.damage = []record.Notification{notified("5ca1ab1e", w.clock.Now())}, record.ErrDamaged
	})
	w.clock.moveOn(time.Minute)
	w.reaches(w.repeated(), v1alpha1.ReasonInconclusive, "Some notifications since the run run cannot be read, because objects of the archive are damaged. "+
		"Repeat all tests: postflight runs rerun run")
}

// TestTooMuchToKnow: more is kept than is read.
func TestTooMuchToKnow(t *testing.T) {
	t.Parallel()
	w, notes := notedWorld(t)
	notes.set(func() { notes.more = true })
	w.clock.moveOn(time.Minute)
	w.reaches(w.repeated(), v1alpha1.ReasonInconclusive, "Since the run run, there were more notifications than are looked at.")
}
