package controllers_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	announcecontroller "github.com/postflight-dev/postflight/controllers/announce"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/webhook"
)

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
	*world
	hook *listener
}

func newAnnounceWorld(t testing.TB, change ...func(*v1alpha1.Team)) *announceWorld {
	t.Helper()
	w := &announceWorld{world: emptyWorld(t), hook: listen(t)}
	w.tells = toLoopback()
	w.hasTeam(append([]func(*v1alpha1.Team){withWebhook("events", "postflight-webhook")}, change...)...)
	w.create(anEnvironment("staging"), aTrigger("smoke", tellsChat))
	w.create(aSecret("postflight-webhook", w.hook.secret()), aSecret("postflight-slack", map[string][]byte{"url": []byte(w.hook.URL + "/chat")}))
	w.grant("ClusterRole", "postflight-credentials-reader")
	w.startManager()
	w.knowsReceivers("smoke")
	return w
}

func toLoopback() announcecontroller.Config {
	return announcecontroller.Config{
		Options: report.Options{PublicURL: "https://ci.example.com"},
		Sender:  webhook.New(outbound.Public([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})),
	}
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
	w.t.Helper()
	w.eventually("the receivers are known", func() string {
		team, t := &v1alpha1.Team{}, &v1alpha1.Trigger{}
		w.must(w.Client.Get(context.Background(), client.ObjectKey{Name: w.ns}, team))
		w.must(w.Client.Get(context.Background(), w.key(trigger), t))
		if len(team.Status.Webhooks) != len(team.Spec.Webhooks) || (t.Status.NotifiedSince == nil) != (t.Spec.Notify == nil) {
			return fmt.Sprintf("%+v %+v", team.Status, t.Status)
		}
		return ""
	})
}

// hears waits until the webhook has the events of a run, and no others.
func (w *announceWorld) hears(run string, events ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the webhook hears that %s is %q", run, events), func() string {
		got, _ := w.hook.got(run)
		return cmp.Diff(events, got)
	})
}

// chatHears waits until the chat has messages with the texts, and no others.
func (w *announceWorld) chatHears(texts ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the chat hears %q", texts), func() string {
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
	w.t.Helper()
	s := &v1alpha1.Suite{}
	w.eventually(fmt.Sprintf("the receivers of %s are told: %s, %q", name, reason, message), func() string {
		w.must(w.Client.Get(context.Background(), w.key(name), s))
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionNotified)
		if c != nil && c.Reason == reason && strings.Contains(c.Message, message) {
			return ""
		}
		return fmt.Sprintf("%+v", c)
	})
	return s
}

// remembers waits until the status of a run says that the webhook accepted an event.
func (w *announceWorld) remembers(name string, event v1alpha1.RunEvent) {
	w.t.Helper()
	s := &v1alpha1.Suite{}
	w.eventually(fmt.Sprintf("the status of %s says %s", name, event), func() string {
		w.must(w.Client.Get(context.Background(), w.key(name), s))
		if announce.DeliveryTo(s, announce.Receiver{Name: "webhook/events"}).Event == event {
			return ""
		}
		return fmt.Sprintf("%+v", s.Status.Deliveries)
	})
}

// notes are those of the events about a run.
func (w *announceWorld) notes(run string) (notes []string) {
	w.t.Helper()
	list := &eventsv1.EventList{}
	w.must(w.Client.List(context.Background(), list, client.InNamespace(w.ns)))
	for _, e := range list.Items {
		if e.Regarding.Kind == "Suite" && e.Regarding.Name == run {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// otherTeam adds a Team with a webhook of its own to the manager, and returns its namespace.
func (w *announceWorld) otherTeam(its *listener) string {
	w.t.Helper()
	ns := w.Namespace(w.t)
	binding := aGrant("ClusterRole", "postflight-credentials-reader")
	objects := []client.Object{anEnvironment("staging"), aTrigger("smoke"), aSecret("postflight-webhook", its.secret()), binding}
	for _, o := range objects {
		o.SetNamespace(ns)
	}
	w.create(aTeam(ns, "", withWebhook("events", "postflight-webhook")))
	w.create(objects...)
	w.stop()
	w.startManager(ns)
	return ns
}
