package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

const (
	deploySuccessPath = "/api/webhooks/deploy_success"
	sha               = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	namespace         = "acme"
	goodKey           = "pf_good_and_long"
	budget            = 45 * time.Second
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC)

// fakeClock moves only while a caller sleeps.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return ctx.Err()
}

// harness is an API on a fake API server.
type harness struct {
	*API
	t        testing.TB
	cluster  client.WithWatch // without faults
	clock    *fakeClock
	index    *match.Index
	registry *prometheus.Registry
	audit    *lockedBuffer
	log      *lockedBuffer
	validate bool // requests and answers against the OpenAPI document
}

type setup struct {
	objects  []client.Object
	faults   interceptor.Funcs
	triggers dispatch.Matcher // in place of those among the objects
	dispatch func(*dispatch.Config)
	limits   func(*Limits)
	ways     []auth.Way
	config   func(*Config)
}

// start gives every object of the setup a UID, as an API server would.
func start(t testing.TB, s setup) *harness {
	t.Helper()
	h := &harness{t: t, clock: &fakeClock{now: noon}, index: &match.Index{}, registry: prometheus.NewRegistry(),
		audit: &lockedBuffer{}, log: &lockedBuffer{}, validate: true}
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), batchv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	indexes := &indexes{builder: fake.NewClientBuilder().WithScheme(scheme)}
	if err := index.Setup(t.Context(), indexes); err != nil {
		t.Fatal(err)
	}
	for _, o := range s.objects {
		if o.GetUID() == "" {
			o.SetUID(types.UID("uid-" + o.GetName()))
		}
		if trigger, ok := o.(*v1alpha1.Trigger); ok {
			h.index.Set(trigger)
		}
	}
	h.cluster = indexes.builder.WithObjects(s.objects...).WithStatusSubresource(&v1alpha1.Suite{}).Build()
	faulty := interceptor.NewClient(h.cluster, s.faults)

	keys := &auth.Keys{
		Reader: h.cluster, Staleness: func() time.Duration { return 0 }, Used: func(*v1alpha1.APIKey) {}, Clock: h.clock,
	}
	dispatching := dispatch.Config{
		Cache: h.cluster, Live: faulty, Writer: faulty, Triggers: cmp.Or[dispatch.Matcher](s.triggers, h.index), Budget: budget,
		Limits: dispatch.DefaultLimits(), Clock: h.clock, ServerTime: func(t time.Time) time.Time { return t }, Sleep: h.clock.Sleep, Jitter: func() float64 { return 1 },
	}
	if s.dispatch != nil {
		s.dispatch(&dispatching)
	}
	dispatcher, err := dispatch.New(dispatching)
	if err != nil {
		t.Fatal(err)
	}
	limits := DefaultLimits()
	if s.limits != nil {
		s.limits(&limits)
	}
	reader, err := runs.New(runs.Config{Cache: h.cluster, Live: faulty, PodLogs: fakeNode{}, Limits: limits.Limits})
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Dispatcher: dispatcher, Cache: h.cluster, Live: faulty,
		Authenticate:    (&auth.Authenticator{Keys: keys, Ways: s.ways}).Authenticate,
		AuthenticatePod: func(*http.Request) (podfiles.Pod, error) { return podfiles.Pod{}, auth.ErrUnauthenticated },
		Authenticated:   func(context.Context, string) {},
		Runs:            reader,
		Limits:          limits, Registerer: h.registry,
		Log:   funcr.NewJSON(func(line string) { h.log.WriteString(line + "\n") }, funcr.Options{Verbosity: 9}),
		Audit: slog.New(slog.NewJSONHandler(h.audit, nil)),
		Clock: h.clock,
	}
	if s.config != nil {
		s.config(&config)
	}
	api, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	h.API = api
	for _, o := range s.objects {
		if s, ok := o.(*v1alpha1.Suite); ok {
			h.SuiteChanged(nil, s)
		}
	}
	return h
}

// SuiteChanged is what the watch of the cache reports.
func (h *harness) SuiteChanged(before, after *v1alpha1.Suite) { h.Runs.SuiteChanged(before, after) }

// indexes makes the fake client have the indexes that the manager's cache has.
type indexes struct{ builder *fake.ClientBuilder }

func (x *indexes) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	x.builder = x.builder.WithIndex(o, field, extract)
	return nil
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) WriteString(s string) { _, _ = b.Write([]byte(s)) }

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// The objects of most tests: a team with a key, an Environment and a Trigger that every notification matches.

func acme(more ...client.Object) []client.Object {
	return append([]client.Object{team(namespace), apiKey(goodKey), environmentNamed("staging")}, more...)
}

func team(name string) *v1alpha1.Team {
	return &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func apiKey(key string) *v1alpha1.APIKey {
	return &v1alpha1.APIKey{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: strings.NewReplacer("_", "-").Replace(key)},
		Spec:       v1alpha1.APIKeySpec{SHA256: apikey.Digest(key)},
	}
}

func environmentNamed(name string) *v1alpha1.Environment {
	return &v1alpha1.Environment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.EnvironmentSpec{URL: "https://" + name + ".example.com", Variables: map[string]string{"REGION": "eu"}},
	}
}

func trigger(name string, change ...func(*v1alpha1.Trigger)) *v1alpha1.Trigger {
	t := &v1alpha1.Trigger{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.TriggerSpec{Environment: "staging", Duplicates: v1alpha1.DuplicatesCommit},
	}
	for _, c := range change {
		c(t)
	}
	return t
}

func inNowhere(t *v1alpha1.Trigger) { t.Spec.Environment = "nowhere" }

// errRefused is the error if the API server is down.
var errRefused = &url.Error{Op: "Post", URL: "https://10.0.0.1:6443/", Err: syscall.ECONNREFUSED}

// refuse is a create that always fails.
func refuse(err error) func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
	return func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return err }
}

// post is a good notification with the given body.
func post(body string, change ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(http.MethodPost, deploySuccessPath, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+goodKey)
	r.Header.Set("Content-Type", "application/json")
	for _, c := range change {
		c(r)
	}
	return r
}

// exchange is a request and its answer, both checked against the OpenAPI document.
func (h *harness) exchange(r *http.Request, change ...func(*http.Request)) *httptest.ResponseRecorder {
	h.t.Helper()
	for _, c := range change {
		c(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if h.validate {
		checkAgainstDocument(h.t, r, body, w)
	}
	return w
}

// notify posts a good notification and returns its answer.
func (h *harness) notify(body string, change ...func(*http.Request)) reply {
	h.t.Helper()
	w := h.exchange(post(body, change...))
	if w.Code != http.StatusOK {
		h.t.Fatalf("status %d, want 200: %s", w.Code, w.Body)
	}
	return decode[reply](h.t, w)
}

func decode[T any](t testing.TB, w *httptest.ResponseRecorder) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(w.Body.Bytes(), &value); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return value
}

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
