package announce_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakeslack"
	"github.com/postflight-dev/postflight/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

// listener is a webhook of a team, and at /chat one of Slack. It checks every signature, fails on demand, and keeps what it
// accepted.
type listener struct {
	*httptest.Server
	t   testing.TB
	key []byte

	mu       sync.Mutex
	fail     http.HandlerFunc
	end      chan struct{} // closed when the test ends
	requests int
	hanging  int                 // requests at present
	most     int                 // of these, so far
	events   map[string][]string // accepted types, without their beginning, by run
	ids      map[string]int
	chat     []string
}

func listen(t testing.TB) *listener {
	t.Helper()
	l := &listener{t: t, key: []byte(strings.Repeat("k", 32)), end: make(chan struct{}), events: map[string][]string{}, ids: map[string]int{}}
	l.Server = httptest.NewServer(l)
	t.Cleanup(func() { close(l.end); l.CloseClientConnections(); l.Close() })
	return l
}

func (l *listener) secret() map[string][]byte {
	return map[string][]byte{
		"secret": []byte("whsec_" + base64.StdEncoding.EncodeToString(l.key)), "url": []byte(l.URL + "/hook?t0ken"),
	}
}

// failing makes the listener answer like this from now on; nil ends that.
func (l *listener) failing(h http.HandlerFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = h
}

func answers(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}
}

// hangs until the client gives up.
func (l *listener) hangs(_ http.ResponseWriter, r *http.Request) {
	l.hang(1)
	defer l.hang(-1)
	select {
	case <-r.Context().Done():
	case <-l.end:
	}
}

func (l *listener) hang(more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hanging += more
	l.most = max(l.most, l.hanging)
}

// mostHanging is how many requests hung at the same time.
func (l *listener) mostHanging() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.most
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.requests++
	fail := l.fail
	l.mu.Unlock()
	if r.URL.Path != "/chat" {
		l.check(r, body)
	}
	if fail != nil {
		fail(w, r)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.URL.Path == "/chat" {
		var message struct{ Text string }
		_ = json.Unmarshal(body, &message)
		l.chat = append(l.chat, message.Text)
		return
	}
	var event struct{ ID, Type, Subject string }
	_ = json.Unmarshal(body, &event)
	if l.ids[event.ID]++; l.ids[event.ID] == 1 {
		l.events[event.Subject] = append(l.events[event.Subject], strings.TrimPrefix(event.Type, "dev.postflight.run."))
	}
}

func (l *listener) check(r *http.Request, body []byte) {
	mac := hmac.New(sha256.New, l.key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("webhook-signature") != want {
		l.t.Errorf("the signature is %q, want %q", r.Header.Get("webhook-signature"), want)
	}
	if !strings.Contains(string(body), r.Header.Get("webhook-id")) {
		l.t.Errorf("the id is %q in %s", r.Header.Get("webhook-id"), body)
	}
}

func (l *listener) asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests
}

// got are the events of a run that were accepted, in order, and repeats how many of all came again.
func (l *listener) got(run string) (events []string, repeats int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.ids {
		repeats += n - 1
	}
	return slices.Clone(l.events[run]), repeats
}

func (l *listener) said() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.chat)
}

// announceWorld has a Team with the webhook "events", a Trigger "smoke" that tells a chat, and the grant of the team.
type announceWorld struct {
	*world.World
	hook  *listener
	slack *fakeslack.Slack
}

func newAnnounceWorld(t testing.TB, change ...func(*v1alpha1.Team)) *announceWorld {
	t.Helper()
	w := &announceWorld{World: world.Empty(t), hook: listen(t), slack: fakeslack.New(t)}
	w.Announce = world.ToLoopback(w.slack.API())
	w.HasTeam(append([]func(*v1alpha1.Team){withWebhook("events", "postflight-webhook")}, change...)...)
	w.Create(build.Environment("staging"), build.Trigger("smoke", tellsChat))
	w.Create(build.Secret("postflight-webhook", w.hook.secret()), build.Secret("postflight-slack", map[string][]byte{"url": []byte(w.hook.URL + "/chat")}))
	w.Grant("ClusterRole", "postflight-credentials-reader")
	w.StartManager()
	w.knowsReceivers("smoke")
	return w
}

func withWebhook(name, secret string, events ...v1alpha1.RunEvent) func(*v1alpha1.Team) {
	return func(t *v1alpha1.Team) {
		t.Spec.Webhooks = append(t.Spec.Webhooks, v1alpha1.Webhook{Name: name, SecretRef: v1alpha1.SecretReference{Name: secret}, Events: events})
	}
}

func tellsChat(t *v1alpha1.Trigger) {
	t.Spec.Notify = &v1alpha1.Notify{Slack: v1alpha1.SlackNotify{SecretRef: v1alpha1.SecretReference{Name: "postflight-slack"}}}
}

// knowsReceivers waits until the manager has seen the receivers of the Team and of a Trigger.
func (w *announceWorld) knowsReceivers(trigger string) {
	w.T.Helper()
	team, t := build.Team(w.NS, ""), build.Trigger(trigger)
	w.Await("the webhooks are known", team, func() bool { return len(team.Status.Webhooks) == len(team.Spec.Webhooks) })
	w.Await("the chat is known", t, func() bool { return (t.Status.NotifiedSince == nil) == (t.Spec.Notify == nil) })
}

// hears waits until the webhook has the events of a run, and no others.
func (w *announceWorld) hears(run string, events ...string) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("the webhook hears that %s is %q", run, events), func() string {
		got, _ := w.hook.got(run)
		return cmp.Diff(events, got)
	})
}

// chatHears waits until the chat has messages with the texts, and no others.
func (w *announceWorld) chatHears(texts ...string) {
	w.T.Helper()
	w.Eventually(fmt.Sprintf("the chat hears %q", texts), func() string {
		said := w.hook.said()
		if len(said) == len(texts) && !slices.ContainsFunc(said, func(text string) bool {
			return !slices.ContainsFunc(texts, func(part string) bool { return strings.Contains(text, part) })
		}) {
			return ""
		}
		return fmt.Sprintf("it is %q", said)
	})
}

// notified waits until the condition Notified of a run has a reason, and its message a text.
func (w *announceWorld) notified(name, reason, message string) *v1alpha1.Suite {
	w.T.Helper()
	return w.SuiteHas(name, v1alpha1.ConditionNotified, reason, message)
}

// remembers waits until the status of a run says that the webhook accepted an event.
func (w *announceWorld) remembers(name string, event v1alpha1.RunEvent) {
	w.T.Helper()
	s := build.Suite(name, 0)
	w.Await(fmt.Sprintf("the status of %s says %s", name, event), s, func() bool {
		return announce.DeliveryTo(s, announce.Receiver{Name: "webhook/events"}).Event == event
	})
}

// otherTeam adds a Team with a webhook of its own to the manager, and returns its namespace.
func (w *announceWorld) otherTeam(its *listener) string {
	w.T.Helper()
	ns := w.Namespace(w.T)
	binding := build.Grant("ClusterRole", "postflight-credentials-reader")
	objects := []client.Object{build.Environment("staging"), build.Trigger("smoke"), build.Secret("postflight-webhook", its.secret()), binding}
	for _, o := range objects {
		o.SetNamespace(ns)
	}
	w.Create(build.Team(ns, "", withWebhook("events", "postflight-webhook")))
	w.Create(objects...)
	w.Stop()
	w.StartManager(ns)
	return ns
}
