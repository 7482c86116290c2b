package announce_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakeslack"
)

// newThreadWorld has a Trigger with a channel, and collects results.
func newThreadWorld(t testing.TB) *announceWorld {
	t.Helper()
	w := newAnnounceWorld(t)
	w.Stop()
	w.Collector = &job.Collector{Image: "postflight:test", URL: "https://postflight.example.com"}
	w.Change(build.Secret("postflight-slack", nil), func(o client.Object) { setToken(o, fakeslack.Token) })
	w.Change(build.Trigger("smoke"), func(o client.Object) {
		s := &o.(*v1alpha1.Trigger).Spec
		s.Results, s.Notify.Slack.Channel = &v1alpha1.Results{}, fakeslack.Channel
		s.Notify.Slack.When = []v1alpha1.NotifyWhen{v1alpha1.NotifyNewFailure}
	})
	w.StartManager()
	return w
}

// channelHas waits until the channel has exactly these messages. Each begins with "> " if it is a reply.
func (w *announceWorld) channelHas(texts ...string) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("the channel has %q", texts), func() string {
		var got []string
		for _, m := range w.slack.Messages() {
			if m.ThreadTS != "" {
				m.Text = "> " + m.Text
			}
			got = append(got, m.Text)
		}
		if len(got) != len(texts) {
			return fmt.Sprintf("it has %q", got)
		}
		for i, text := range texts {
			if !strings.Contains(got[i], strings.TrimPrefix(text, "> ")) || strings.HasPrefix(got[i], "> ") != strings.HasPrefix(text, "> ") {
				return fmt.Sprintf("it has %q", got)
			}
		}
		return ""
	})
}

// threadsAre waits until the status of the Trigger has as many threads, all of them sent.
func (w *announceWorld) threadsAre(n int) []v1alpha1.TestThread {
	w.T.Helper()
	smoke := build.Trigger("smoke")
	w.Await(fmt.Sprintf("%d threads are open", n), smoke, func() bool {
		for _, t := range smoke.Status.Threads {
			if t.TS == "" || t.ClosedBy != "" {
				return false
			}
		}
		return len(smoke.Status.Threads) == n
	})
	return smoke.Status.Threads
}

// run starts a run that ends with a report.
func (w *announceWorld) run(name string, second int, r *report) {
	w.T.Helper()
	w.Start(build.Suite(name, second))
	w.ends(name, r)
}

// TestThreads: a test that begins to fail gets a thread, which is closed when it no longer fails.
func TestThreads(t *testing.T) {
	t.Parallel()
	w := newThreadWorld(t)
	first := w.reports("login")
	w.run("first", 0, first)
	w.notified("first", v1alpha1.ReasonDelivered, "Slack")
	w.channelHas("`login` fails in staging of smoke")
	same := w.reports("login").after("first", first)
	w.run("same", 1, same)
	w.notified("same", v1alpha1.ReasonDelivered, "told to: webhook events.")
	more := w.reports("cart", "login").after("same", same)
	w.run("more", 2, more)
	w.channelHas("`login` fails", "`cart` fails")
	w.threadsAre(2)
	less := w.reports("cart").after("more", more)
	w.run("less", 3, less)
	w.channelHas("`login` no longer fails in staging", "`cart` fails", "> The test no longer fails")
	w.threadsAre(1)
	w.run("fixed", 4, w.reports())
	w.notified("fixed", v1alpha1.ReasonDelivered, "Slack")
	w.channelHas("`login` no longer fails", "`cart` no longer fails", "> no longer fails", "> no longer fails")
	w.threadsAre(0)
	w.run("again", 5, w.reports("login"))
	w.channelHas("`login` no longer fails", "`cart` no longer fails", "> no longer fails", "> no longer fails", "`login` fails in staging")
	if n := w.slack.Calls("conversations.history") + w.slack.Calls("conversations.replies"); n > 0 {
		t.Errorf("the channel was searched %d times without a reason", n)
	}
	if n := len(w.hook.said()); n > 0 {
		t.Errorf("the incoming webhook got %d messages", n)
	}
}

// TestThreadLeaderIsKilled: a message is sent, and the manager ends before the Trigger has its timestamp. The next one finds it.
func TestThreadLeaderIsKilled(t *testing.T) {
	t.Parallel()
	w := newThreadWorld(t)
	w.slack.Drop("chat.postMessage") // the answer is as lost as with a manager that was killed
	w.run("first", 0, w.reports("login"))
	w.notified("first", v1alpha1.ReasonNotifyFailed, "It cannot be reached.")
	w.Stop()
	w.slack.Drop("")
	w.StartManager()
	w.notified("first", v1alpha1.ReasonDelivered, "Slack")
	w.channelHas("`login` fails")
	w.threadsAre(1)
	w.slack.Drop("chat.postMessage")
	w.run("fixed", 1, w.reports())
	w.notified("fixed", v1alpha1.ReasonNotifyFailed, "It cannot be reached.")
	w.Stop()
	w.slack.Drop("")
	w.StartManager()
	w.notified("fixed", v1alpha1.ReasonDelivered, "Slack")
	w.channelHas("`login` no longer fails", "> no longer fails")
	w.threadsAre(0)
}

// TestTwoRunsAtOnce: two runs in which one test fails open one thread.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	w := newThreadWorld(t)
	w.Stop()
	w.StartManager()
	w.Start(build.Suite("first", 0))
	w.Start(build.Suite("second", 1))
	w.Stop()
	w.ends("first", w.reports("login"))
	w.ends("second", w.reports("login"))
	w.StartManager()
	w.notified("first", v1alpha1.ReasonDelivered, "")
	w.notified("second", v1alpha1.ReasonDelivered, "")
	w.channelHas("`login` fails")
}

// TestSlackRefuses: the condition says what is wrong with the token or the channel, and the thread is opened once it is right.
func TestSlackRefuses(t *testing.T) {
	t.Parallel()
	w := newThreadWorld(t)
	w.Change(build.Secret("postflight-slack", nil), func(o client.Object) { setToken(o, "") })
	w.run("first", 0, w.reports("login"))
	w.notified("first", v1alpha1.ReasonNotifyFailed, "it has no key token, which spec.notify.slack.channel needs")
	w.Change(build.Secret("postflight-slack", nil), func(o client.Object) { setToken(o, "xoxb-revoked") })
	w.notified("first", v1alpha1.ReasonNotifyFailed, "Slack does not accept the token. Put a new one into the Secret (invalid_auth).")
	w.Change(build.Secret("postflight-slack", nil), func(o client.Object) { setToken(o, fakeslack.Token) })
	w.Change(build.Trigger("smoke"), func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Notify.Slack.Channel = "C0000OTHER" })
	w.notified("first", v1alpha1.ReasonNotifyFailed, "The app of the token is not in the channel of spec.notify.slack. Invite it")
	w.threadsAre(0)
	w.slack.Fail("chat.postMessage", "ratelimited")
	w.Change(build.Trigger("smoke"), func(o client.Object) { o.(*v1alpha1.Trigger).Spec.Notify.Slack.Channel = fakeslack.Channel })
	w.notified("first", v1alpha1.ReasonNotifyFailed, "It asks to send less.")
	w.slack.Fail("chat.postMessage", "")
	s := w.notified("first", v1alpha1.ReasonDelivered, "Slack")
	w.channelHas("`login` fails")
	text, err := json.Marshal([]any{s, w.threadsAre(1), w.Events(s)})
	w.Must(err)
	if strings.Contains(string(text), "xoxb-") {
		t.Errorf("the token is in %s", text)
	}
	w.slack.Fail("chat.postMessage", "account_inactive")
	w.run("second", 1, w.reports("cart", "login"))
	w.notified("second", v1alpha1.ReasonGone, "Slack gets nothing more about this run: The app of the token was removed from Slack.")
	w.slack.Fail("chat.postMessage", "")
	w.slack.Delete(w.slack.Messages()[0].TS)
	w.run("fixed", 2, w.reports())
	w.notified("fixed", v1alpha1.ReasonDelivered, "")
	w.threadsAre(0)
}

func setToken(o client.Object, token string) {
	setData(o, map[string][]byte{"token": []byte(token)})
}

func setData(o client.Object, data map[string][]byte) { o.(*corev1.Secret).Data = data }
