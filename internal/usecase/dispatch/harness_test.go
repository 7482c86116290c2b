package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakeclient"
)

const (
	sha       = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	namespace = "acme"
	withSHA   = `{"branch":"main","sha":"` + sha + `"}`
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC)

// harness is a Dispatcher on a fake API server.
type harness struct {
	*Dispatcher
	t       *testing.T
	cluster client.WithWatch        // without faults
	clock   *clocktesting.FakeClock // moves only while a caller sleeps
	team    *v1alpha1.Team
	log     *lockedBuffer
	faults  *faults // of creates
}

type setup struct {
	objects []client.Object // the first is the Team
	faults  interceptor.Funcs
	creates []fault // one after the other
	limits  func(*Limits)
	config  func(*Config)
}

// start gives every object of the setup a UID, as an API server would.
func start(t *testing.T, s setup) *harness {
	t.Helper()
	if s.objects == nil {
		s.objects = acme()
	}
	h := &harness{t: t, clock: clocktesting.NewFakeClock(noon), log: &lockedBuffer{}, team: s.objects[0].(*v1alpha1.Team)}
	h.cluster = fakeclient.New(t, s.objects...)
	triggers := &match.Index{}
	for _, o := range s.objects {
		if trigger, ok := o.(*v1alpha1.Trigger); ok {
			triggers.Set(trigger)
		}
	}
	h.faults = &faults{creates: s.creates}
	if s.faults.Create == nil {
		s.faults.Create = h.faults.create
	}
	faulty := interceptor.NewClient(h.cluster, s.faults)
	config := Config{
		Cache: h.cluster, Live: faulty, Writer: faulty, Triggers: triggers, Budget: 45 * time.Second, Limits: DefaultLimits(),
		Clock: h.clock, ServerTime: func(t time.Time) time.Time { return t }, Sleep: h.sleep, Jitter: func() float64 { return 1 },
	}
	config.Limits.AttemptTimeout = time.Minute // of the clock of synctest: the context ends what hangs
	if s.limits != nil {
		s.limits(&config.Limits)
	}
	if s.config != nil {
		s.config(&config)
	}
	d, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	h.Dispatcher = d
	return h
}

func (h *harness) sleep(ctx context.Context, d time.Duration) error {
	h.clock.Step(d)
	return ctx.Err()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) WriteString(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.WriteString(s)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// The objects of most tests: a team, an Environment and a Trigger that every notification matches.

func acme(more ...client.Object) []client.Object {
	return append([]client.Object{team(namespace), environmentNamed("staging")}, more...)
}

func team(name string) *v1alpha1.Team {
	return &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func environmentNamed(name string) *v1alpha1.Environment {
	return &v1alpha1.Environment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.EnvironmentSpec{URL: "https://" + name + ".example.com", Variables: map[string]string{"REGION": "eu"}},
	}
}

func trigger(name string, change ...func(*v1alpha1.Trigger)) *v1alpha1.Trigger {
	return build.With(&v1alpha1.Trigger{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.TriggerSpec{Environment: "staging", Duplicates: v1alpha1.DuplicatesCommit},
	}, change...)
}

func inNowhere(t *v1alpha1.Trigger) { t.Spec.Environment = "nowhere" }

// request is a notification of the team; the body is decoded as one of CI.
func (h *harness) request(body string, change ...func(*Request)) Request {
	h.t.Helper()
	n, err := notification.Decode([]byte(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r := Request{Team: h.team, Notification: n, RequestID: "one", ReceivedAt: h.clock.Now()}
	for _, c := range change {
		c(&r)
	}
	return r
}

func createMode(r *Request) { r.Mode = Create }
func dryRun(r *Request)     { r.Mode = DryRun }

func key(k string) func(*Request) { return func(r *Request) { r.IdempotencyKey = k } }

// dispatch logs into the log of the harness.
func (h *harness) dispatch(body string, change ...func(*Request)) (Result, error) {
	h.t.Helper()
	return h.dispatchIn(h.t.Context(), body, change...)
}

func (h *harness) dispatchIn(ctx context.Context, body string, change ...func(*Request)) (Result, error) {
	h.t.Helper()
	log := funcr.NewJSON(func(line string) { h.log.WriteString(line + "\n") }, funcr.Options{Verbosity: 9})
	return h.Dispatch(logr.NewContext(ctx, log), h.request(body, change...))
}

// notify dispatches a notification that does not fail as a whole.
func (h *harness) notify(body string, change ...func(*Request)) Result {
	h.t.Helper()
	result, err := h.dispatch(body, change...)
	if err != nil {
		h.t.Fatal(err)
	}
	return result
}

func (r TriggerResult) created() string   { return r.idIf(Created) }
func (r TriggerResult) duplicate() string { return r.idIf(Duplicate) }

func (r TriggerResult) idIf(d Decision) string {
	if r.Decision != d {
		return ""
	}
	return r.SuiteID
}

// says returns the message for the sender: that of the whole notification, or else those of the Triggers.
func says(r Result, err error) string {
	var whole *Error
	if errors.As(err, &whole) {
		return fmt.Sprintf("%s: %s", whole.Kind, whole.Message)
	}
	var all strings.Builder
	for _, t := range r.Triggers {
		fmt.Fprintf(&all, "%s: %s\n", t.Decision, t.Reason)
	}
	return all.String()
}

// letter abbreviates a decision.
func letter(r TriggerResult) string { return string(r.Decision)[:1] }

func (h *harness) suites() []v1alpha1.Suite {
	h.t.Helper()
	var list v1alpha1.SuiteList
	if err := h.cluster.List(context.Background(), &list); err != nil {
		h.t.Fatal(err)
	}
	return list.Items
}

func (h *harness) environments() map[string]v1alpha1.Environment {
	h.t.Helper()
	var list v1alpha1.EnvironmentList
	if err := h.cluster.List(context.Background(), &list); err != nil {
		h.t.Fatal(err)
	}
	byName := map[string]v1alpha1.Environment{}
	for _, e := range list.Items {
		byName[e.Name] = e
	}
	return byName
}
