// Package apitest is the world that tests of the HTTP API share: the API on a fake API server, requests to it and stores.
package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
	"github.com/postflight-dev/postflight/test/fakeclient"
)

// refusalLine is a line of the log about an event that was refused.
type refusalLine struct {
	Msg, Source, Reason, RequestID string
	RefusedBefore                  int
}

// Refusals are the lines of a log, which has no others.
func (h *World) Refusals() []refusalLine {
	h.T.Helper()
	var lines []refusalLine
	for text := range strings.Lines(h.Log.String()) {
		var line refusalLine
		if err := json.Unmarshal([]byte(text), &line); err != nil || line.Msg != "an event was refused" {
			h.T.Fatalf("%v: %s", err, text)
		}
		lines = append(lines, line)
	}
	return lines
}

// Granting is a way whose tokens have a grant by their name.
type Granting map[string]grant.Grant

// Claims takes all tokens of these tests.
func (g Granting) Claims(token string) bool { return strings.HasPrefix(token, "token-") }

// Authenticate finds the grant of a token by its name.
func (g Granting) Authenticate(_ context.Context, token string, asked auth.Asked) (auth.Principal, error) {
	granted, known := g[strings.TrimPrefix(token, "token-")]
	if !known || asked.Team != "" && asked.Team != Namespace {
		return auth.Principal{}, auth.Refused("no such token", "")
	}
	acme := Team(Namespace)
	acme.UID = "uid-acme"
	return auth.Principal{Team: acme, Sender: auth.Sender{Kind: auth.KindToken, Name: "acme/ci", Text: "a token"}, Grant: granted}, nil
}

// Bearer sends a token.
func Bearer(token string) func(*http.Request) { return Header("Authorization", "Bearer "+token) }

// What most requests of tests have in common.
const (
	DeploySuccessPath = "/api/webhooks/deploy_success"
	SHA               = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"
	Namespace         = "acme"
	GoodKey           = "pf_good_and_long"
	Budget            = 45 * time.Second
)

// Noon is when the clock starts.
var Noon = time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC)

// World is an API on a fake API server.
type World struct {
	*api.API
	T        testing.TB
	Cluster  client.WithWatch // without faults
	Clock    *FakeClock
	index    *match.Index
	Registry *prometheus.Registry
	Audit    *LockedBuffer
	Log      *LockedBuffer
	Validate bool // requests and answers against the OpenAPI document
}

// Setup is what a World starts with.
type Setup struct {
	Objects  []client.Object
	Faults   interceptor.Funcs
	Triggers dispatch.Matcher // in place of those among the objects
	Dispatch func(*dispatch.Config)
	Limits   func(*limits.Limits)
	Ways     []auth.Way
	Config   func(*api.Config)
}

// Start gives every object of the setup a UID, as an API server would.
func Start(t testing.TB, s Setup) *World {
	t.Helper()
	h := &World{T: t, Clock: &FakeClock{Time: Noon}, index: &match.Index{}, Registry: prometheus.NewRegistry(),
		Audit: &LockedBuffer{}, Log: &LockedBuffer{}, Validate: true}
	h.fill(s.Objects)
	faulty := interceptor.NewClient(h.Cluster, s.Faults)

	keys := &auth.Keys{
		Reader: h.Cluster, Staleness: func() time.Duration { return 0 }, Used: func(*v1alpha1.APIKey) {}, Clock: h.Clock,
	}
	dispatcher := h.dispatcher(s, faulty)
	limits := limits.Default()
	if s.Limits != nil {
		s.Limits(&limits)
	}
	reader, err := runs.New(runs.Config{Cache: h.Cluster, Live: faulty, PodLogs: FakeNode{}, Limits: limits.Limits})
	if err != nil {
		t.Fatal(err)
	}
	config := api.Config{
		Dispatcher: dispatcher, Cache: h.Cluster, Live: faulty,
		Authenticate:    (&auth.Authenticator{Keys: keys, Ways: s.Ways}).Authenticate,
		AuthenticatePod: func(*http.Request) (podfiles.Pod, error) { return podfiles.Pod{}, auth.ErrUnauthenticated },
		Authenticated:   func(context.Context, string) {},
		Runs:            reader,
		Limits:          limits, Registerer: h.Registry,
		Log:   funcr.NewJSON(func(line string) { h.Log.WriteString(line + "\n") }, funcr.Options{Verbosity: 9}),
		Audit: slog.New(slog.NewJSONHandler(h.Audit, nil)),
		Clock: h.Clock,
	}
	if s.Config != nil {
		s.Config(&config)
	}
	api, err := api.New(config)
	if err != nil {
		t.Fatal(err)
	}
	h.API = api
	for _, o := range s.Objects {
		if s, ok := o.(*v1alpha1.Suite); ok {
			h.SuiteChanged(nil, s)
		}
	}
	return h
}

// fill makes the cluster of the objects.
func (h *World) fill(objects []client.Object) {
	h.T.Helper()
	h.Cluster = fakeclient.New(h.T, objects...)
	for _, o := range objects {
		if trigger, ok := o.(*v1alpha1.Trigger); ok {
			h.index.Set(trigger)
		}
	}
}

func (h *World) dispatcher(s Setup, faulty client.WithWatch) *dispatch.Dispatcher {
	h.T.Helper()
	dispatching := dispatch.Config{
		Cache: h.Cluster, Live: faulty, Writer: faulty, Triggers: cmp.Or[dispatch.Matcher](s.Triggers, h.index), Budget: Budget,
		Limits: dispatch.DefaultLimits(), Clock: h.Clock, ServerTime: func(t time.Time) time.Time { return t }, Sleep: h.Clock.Sleep,
		Jitter: func() float64 { return 1 },
	}
	if s.Dispatch != nil {
		s.Dispatch(&dispatching)
	}
	dispatcher, err := dispatch.New(dispatching)
	if err != nil {
		h.T.Fatal(err)
	}
	return dispatcher
}

// SuiteChanged is what the watch of the cache reports.
func (h *World) SuiteChanged(before, after *v1alpha1.Suite) { h.Runs.SuiteChanged(before, after) }

// ErrRefused is the error if the API server is down.
var ErrRefused = &url.Error{Op: "Post", URL: "https://10.0.0.1:6443/", Err: syscall.ECONNREFUSED}

// Refuse is a create that always fails.
func Refuse(err error) func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
	return func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return err }
}

// Suites returns all runs.
func (h *World) Suites() []v1alpha1.Suite {
	h.T.Helper()
	var list v1alpha1.SuiteList
	if err := h.Cluster.List(context.Background(), &list); err != nil {
		h.T.Fatal(err)
	}
	return list.Items
}

// Environments returns all Environments by name.
func (h *World) Environments() map[string]v1alpha1.Environment {
	h.T.Helper()
	var list v1alpha1.EnvironmentList
	if err := h.Cluster.List(context.Background(), &list); err != nil {
		h.T.Fatal(err)
	}
	byName := map[string]v1alpha1.Environment{}
	for _, e := range list.Items {
		byName[e.Name] = e
	}
	return byName
}

// Counter returns what was counted with these values of labels, which are sorted by the names of the labels.
func (h *World) Counter(name string, labels ...string) float64 {
	h.T.Helper()
	families, err := h.Registry.Gather()
	if err != nil {
		h.T.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if family.GetName() == name && slices.Equal(values, labels) {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}
