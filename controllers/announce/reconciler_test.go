package announce_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestEvents: a webhook hears of each run in order, once, and a chat of failures and recovery.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := newAnnounceWorld(t)
	w.Start(build.Suite("passes", 0))
	w.hears("passes", "queued", "started")
	w.Passes("passes")
	w.hears("passes", "queued", "started", "passed")
	w.notified("passes", v1alpha1.ReasonDelivered, "told to: webhook events.")
	w.Start(build.Suite("fails", 1))
	w.Exits("fails", 1)
	w.hears("fails", "queued", "started", "failed")
	w.notified("fails", v1alpha1.ReasonDelivered, "told to: webhook events, Slack.")
	w.Start(build.Suite("canceled", 2))
	w.Cancel("canceled", "jo")
	w.Stops("canceled")
	w.hears("canceled", "queued", "started", "canceled")
	w.Start(build.Suite("recovers", 3))
	w.Passes("recovers")
	w.Create(build.Suite("stays", 4))
	w.Reaches("recovers", v1alpha1.ReasonPassed, "")
	w.notified("recovers", v1alpha1.ReasonDelivered, "told to: webhook events, Slack.")
	w.Runs("stays")
	w.Passes("stays")
	w.notified("stays", v1alpha1.ReasonDelivered, "told to: webhook events.")
	w.chatHears("smoke failed in staging", "smoke recovered in staging")
	if _, repeats := w.hook.got("stays"); repeats > 0 {
		t.Errorf("%d events came again", repeats)
	}
	s := w.notified("fails", v1alpha1.ReasonDelivered, "")
	want := []v1alpha1.Delivery{{Receiver: "webhook/events", Event: "Failed"}, {Receiver: "slack", Event: "Failed"}}
	if s.Status.Deliveries[0].Receiver == "slack" {
		want[0], want[1] = want[1], want[0]
	}
	if diff := cmp.Diff(want, s.Status.Deliveries); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	owners := map[string]bool{}
	for _, f := range s.ManagedFields {
		owners[f.Manager+"/"+f.Subresource] = true
	}
	if !owners["postflight-announce/status"] {
		t.Errorf("the owners are %v", owners)
	}
}

// TestRecoveryOfADeletedRun: the run that failed was deleted before the next one passes.
func TestRecoveryOfADeletedRun(t *testing.T) {
	t.Parallel()
	w := newAnnounceWorld(t)
	w.Start(build.Suite("fails", 0))
	w.Exits("fails", 1)
	w.chatHears("failed")
	smoke := build.Trigger("smoke")
	w.Await("the Trigger remembers it", smoke, func() bool {
		return len(smoke.Status.Outcomes) == 1 && smoke.Status.Outcomes[0].State == v1alpha1.ReasonFailed
	})
	w.Delete(build.Suite("fails", 0))
	w.Gone(&v1alpha1.Suite{}, "fails")
	w.Start(build.Suite("passes", 1))
	w.Passes("passes")
	w.chatHears("failed", "recovered")
}

// TestFaultsOfReceivers: whatever a receiver answers, runs go on, the message says what is wrong, and all events arrive in
// order once it has recovered.
func TestFaultsOfReceivers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault   func(*listener) http.HandlerFunc
		message string
	}{
		"fails":       {func(*listener) http.HandlerFunc { return answers(500) }, "It failed (500)."},
		"is too busy": {func(*listener) http.HandlerFunc { return answers(429, "Retry-After", "1") }, "It asks to send less."},
		"rejects":     {func(*listener) http.HandlerFunc { return answers(401) }, "It did not accept the message (401)."},
		"redirects":   {func(*listener) http.HandlerFunc { return answers(307, "Location", "/elsewhere") }, "redirect (307), which is not followed"},
		"hangs":       {func(l *listener) http.HandlerFunc { return l.hangs }, "It does not answer."},
		"ends rudely": {func(*listener) http.HandlerFunc {
			return func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		}, "It cannot be reached."},
		"says too much": {func(*listener) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(500)
				for range 1000 {
					_, _ = w.Write(make([]byte, 1<<16))
				}
			}
		}, "It failed (500)."},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "fails" && name != "redirects" {
				tier.All(t, "other faults have the same consequences")
			}
			t.Parallel()
			w := newAnnounceWorld(t)
			w.hook.failing(tc.fault(w.hook))
			w.Start(build.Suite("run", 0))
			w.Exits("run", 1)
			w.Reaches("run", v1alpha1.ReasonFailed, "")
			w.notified("run", v1alpha1.ReasonNotifyFailed, "The webhook events lacks the event Queued: ")
			s := w.notified("run", v1alpha1.ReasonNotifyFailed, tc.message)
			w.HasEvent(s, tc.message)
			w.hook.failing(nil)
			w.hears("run", "queued", "started", "failed")
			w.chatHears("smoke failed in staging")
			w.notified("run", v1alpha1.ReasonDelivered, "")
			w.hidesSecrets("run")
		})
	}
}

// TestGone: a receiver that wants no more is left alone about that run, and hears of the next one.
func TestGone(t *testing.T) {
	t.Parallel()
	w := newAnnounceWorld(t)
	w.hook.failing(answers(410))
	w.Create(build.Suite("first", 0))
	w.notified("first", v1alpha1.ReasonPending, "")
	asked := w.hook.asked()
	w.hook.failing(nil)
	w.Runs("first")
	w.Passes("first")
	w.notified("first", v1alpha1.ReasonGone, "The webhook events answered 410 Gone")
	if n := w.hook.asked() - asked; n > 0 {
		t.Errorf("it got %d more requests", n)
	}
	w.Create(build.Suite("second", 1))
	w.hears("second", "queued")
}

// TestHangingReceiver: while the receivers of one team hang, those of another hear of their runs.
func TestHangingReceiver(t *testing.T) {
	t.Parallel()
	w := newAnnounceWorld(t, func(t *v1alpha1.Team) { t.Spec.Suspended = true }) // so that its runs stay in the queue
	its := listen(t)
	other := w.otherTeam(its)
	w.hook.failing(w.hook.hangs)
	for i := range 40 { // more than the manager has workers
		w.Create(build.Suite(fmt.Sprint("run-", i), i))
	}
	poll.True(t, "the webhook hangs", func() bool { return w.hook.asked() > 0 })
	w.Create(build.In(other, build.Suite("run", 0)))
	w.Eventually("the other team hears of its run", func() string {
		got, _ := its.got("run")
		return cmp.Diff([]string{"queued"}, got)
	})
	if most := w.hook.mostHanging(); most > 2*4 { // of which it may not know yet that the manager has given up half
		t.Errorf("%d requests went to the webhook that hangs", most)
	}
}

// TestAnotherLeaderTells: a leader that follows another one tells what is missing, and nothing twice.
func TestAnotherLeaderTells(t *testing.T) {
	t.Parallel()
	const runs = 3
	w := newAnnounceWorld(t)
	for i := range runs {
		w.Create(build.Suite(fmt.Sprint("run-", i), i))
		w.Runs(fmt.Sprint("run-", i))
		w.hears(fmt.Sprint("run-", i), "queued", "started")
		w.remembers(fmt.Sprint("run-", i), v1alpha1.EventStarted)
	}
	w.Stop()
	for i := range runs {
		w.Exits(fmt.Sprint("run-", i), 1)
	}
	w.StartManager()
	for i := range runs {
		w.hears(fmt.Sprint("run-", i), "queued", "started", "failed")
		w.notified(fmt.Sprint("run-", i), v1alpha1.ReasonDelivered, "")
	}
	if _, repeats := w.hook.got(""); repeats > 0 || len(w.hook.said()) != runs {
		t.Errorf("%d events came again, and the chat has %q", repeats, w.hook.said())
	}
}

// TestLeaderIsKilled: a leader that ends after a message was accepted, and before that is stored, repeats that message.
func TestLeaderIsKilled(t *testing.T) {
	t.Parallel()
	w := newAnnounceWorld(t)
	w.Start(build.Suite("run", 0))
	w.remembers("run", v1alpha1.EventStarted)
	w.Wire.Refuse("fieldManager=postflight-announce")
	w.Passes("run")
	w.hears("run", "queued", "started", "passed")
	w.Stop()
	w.Wire.Refuse("")
	w.StartManager()
	w.notified("run", v1alpha1.ReasonDelivered, "")
	got, repeats := w.hook.got("run")
	if diff := cmp.Diff([]string{"queued", "started", "passed"}, got); diff != "" || repeats != 1 {
		t.Errorf("%d repeats, and the events (-want +got):\n%s", repeats, diff)
	}
}

// TestReceiverIsAddedLater: it hears of what happens from then on.
func TestReceiverIsAddedLater(t *testing.T) {
	t.Parallel()
	w := newAnnounceWorld(t)
	w.Create(build.Trigger("late"))
	w.Start(build.Suite("before", 0, build.OfTrigger("late")))
	w.Exits("before", 1)
	w.notified("before", v1alpha1.ReasonDelivered, "told to: webhook events.")
	w.Clock.MoveOn(4 * time.Second) // times in a status are whole seconds
	w.Change(build.Trigger("late"), func(o client.Object) { tellsChat(o.(*v1alpha1.Trigger)) })
	w.knowsReceivers("late")
	w.Start(build.Suite("after", 1, build.OfTrigger("late")))
	w.Exits("after", 1)
	w.notified("after", v1alpha1.ReasonDelivered, "Slack")
	w.chatHears("late failed in staging")
}
