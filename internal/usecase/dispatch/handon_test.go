package dispatch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// otherClusters answer one error after the other, and then as a cluster does that starts a run.
type otherClusters struct {
	mu     sync.Mutex
	errs   map[string][]error
	asked  []string
	last   delegation.Notification
	keys   []string
	answer *httpapi.NotificationResult
	ended  map[string]*httpapi.TerminationResult
}

func (c *otherClusters) Notify(_ context.Context, cluster string, n delegation.Notification) (*httpapi.NotificationResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.last, c.keys = append(c.asked, cluster), n, append(c.keys, n.IdempotencyKey)
	if errs := c.errs[cluster]; len(errs) > 0 {
		c.errs[cluster] = errs[1:]
		return nil, errs[0]
	}
	if c.answer != nil {
		return c.answer, nil
	}
	return &httpapi.NotificationResult{
		Environment: &httpapi.Environment{ID: "uid", Alias: n.Delegation.Environments[0], IsStatic: true},
		Results:     []httpapi.Result{{TriggerID: "e2e", CreatedSuiteID: "run-in-" + cluster}},
	}, nil
}

func (c *otherClusters) Terminate(
	_ context.Context, cluster string, _ delegation.Command, _ *notification.Termination,
) (*httpapi.TerminationResult, error) {
	if errs := c.errs[cluster]; len(errs) > 0 {
		return nil, errs[0]
	}
	return c.ended[cluster], nil
}

func elsewhere(name, cluster string, types ...string) *v1alpha1.Environment {
	e := environmentNamed(name)
	e.Spec = v1alpha1.EnvironmentSpec{Cluster: cluster, DeploymentTypes: types}
	return e
}

func hubWith(c *otherClusters) func(*Config) { return func(config *Config) { config.Clusters = c } }

var (
	silent  = &delegation.Error{Message: "does not answer"}
	refused = &delegation.Error{Refused: true, Message: "refused: you may not"}
)

func repeated(err *delegation.Error, n int) (errs []error) {
	for range n {
		errs = append(errs, new(*err))
	}
	return errs
}

func TestHandOn(t *testing.T) {
	local := trigger("local")
	cases := map[string]struct {
		reason  string
		errs    map[string][]error
		body    string
		change  func(*Request)
		asked   []string
		results []string // decision and run, or reason
		fails   string   // of the whole notification
	}{
		"one and here":     {"each cluster has its own Triggers", nil, withSHA, nil, []string{"eu", "us"}, []string{"created ", "created run-in-eu", "created run-in-us"}, ""},
		"a short outage":   {"it is held", map[string][]error{"eu": repeated(silent, 3)}, withSHA, nil, []string{"eu", "eu", "eu", "eu", "us"}, []string{"created ", "created run-in-eu", "created run-in-us"}, ""},
		"a refusal":        {"it is final, and others go on", map[string][]error{"eu": repeated(refused, 9)}, withSHA, nil, []string{"eu", "us"}, []string{"created ", "failed The cluster eu refused: you may not.", "created run-in-us"}, ""},
		"another type":     {"only us takes it", nil, `{"sha":"` + sha + `","deployment_type":"production"}`, nil, []string{"us"}, []string{"created ", "created run-in-us"}, ""},
		"only here":        {"a page explains its own Triggers", nil, withSHA, func(r *Request) { r.OnlyHere = true }, nil, []string{"created "}, ""},
		"from a rollout":   {"it concerns the workloads of this cluster", nil, withSHA, func(r *Request) { r.Origin = FromRollout("staging") }, nil, []string{"created "}, ""},
		"hub to hub":       {"it would go on for ever", nil, withSHA, func(r *Request) { r.Grant.Known = []string{"staging", "prod-eu"} }, nil, nil, "loop"},
		"asked of others":  {"a hub asks for an Environment that is here", nil, withSHA, func(r *Request) { r.Grant.Known = []string{"staging"} }, nil, []string{"created "}, ""},
		"unknown to a hub": {"the Triggers of other Environments do not exist for it", nil, withSHA, func(r *Request) { r.Grant.Known = []string{"testing"} }, nil, nil, ""},
		"a rerun":          {"its key lets no attempt start another run", map[string][]error{"eu": repeated(silent, 1)}, withSHA, func(r *Request) { r.Rerun = true }, []string{"eu", "eu", "us"}, []string{"created ", "created run-in-eu", "created run-in-us"}, ""},
		"a dry run":        {"a person waits", map[string][]error{"eu": repeated(silent, 1)}, withSHA, dryRun, []string{"eu", "us"}, []string{"created ", "failed The cluster eu does not answer, so it is not known which of its Triggers match", "created run-in-us"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &otherClusters{errs: tc.errs}
			h := start(t, setup{config: hubWith(c), objects: acme(local.DeepCopy(), elsewhere("prod-eu", "eu", "staging*", ""), elsewhere("prod-us", "us"))})
			change := tc.change
			if change == nil {
				change = createMode
			}
			result, err := h.dispatch(tc.body, change)
			if failed, _ := errors.AsType[*Error](err); (failed == nil) != (tc.fails == "") || failed != nil && string(failed.Kind) != tc.fails {
				t.Fatalf("%s: got %v, want %q", tc.reason, err, tc.fails)
			}
			slices.Sort(c.asked)
			if diff := cmp.Diff(tc.asked, c.asked); diff != "" {
				t.Errorf("%s: it asked\n%s", tc.reason, diff)
			}
			if len(result.Triggers) != len(tc.results) {
				t.Fatalf("%s: got %+v", tc.reason, result.Triggers)
			}
			for i, r := range result.Triggers {
				if got := string(r.Decision) + " " + r.SuiteID + r.Reason; !strings.HasPrefix(got, tc.results[i]) {
					t.Errorf("%s: got %q, want %q", tc.reason, got, tc.results[i])
				}
			}
		})
	}
}

// TestHandOnHoldsAsLongAsTheAPIServer: after the budget, the sender is told to send it again.
func TestHandOnHoldsAsLongAsTheAPIServer(t *testing.T) {
	c := &otherClusters{errs: map[string][]error{"eu": repeated(silent, 1000)}}
	h := start(t, setup{config: hubWith(c), objects: acme(elsewhere("prod-eu", "eu"))})
	_, err := h.dispatch(withSHA)
	failed, _ := errors.AsType[*Error](err)
	if failed == nil || failed.Kind != Unavailable || !strings.Contains(failed.Message, "The cluster eu does not answer") {
		t.Fatalf("got %v", err)
	}
	if held := h.clock.Now().Sub(noon); held < h.Budget-h.Limits.BackoffMax || held > h.Budget || len(c.asked) < 10 {
		t.Errorf("it was held for %s, and tried %d times; want about %s", held, len(c.asked), h.Budget)
	}
}

// TestHandOnHasAKey: however often a notification is tried, it has one key, so that no attempt is another deployment.
func TestHandOnHasAKey(t *testing.T) {
	for _, body := range []string{`{"branch":"main"}`, withSHA} {
		c := &otherClusters{errs: map[string][]error{"eu": repeated(silent, 2)}}
		h := start(t, setup{config: hubWith(c), objects: acme(elsewhere("prod-eu", "eu"))})
		h.notify(body)
		first := c.keys[0]
		h.notify(body)
		if len(c.keys) != 4 || first == "" || c.keys[1] != first || c.keys[2] != first || c.keys[3] == first {
			t.Errorf("the keys were %q, want one for each notification", c.keys)
		}
		h.notify(body, key("mine"))
		if got := c.keys[4]; got != "mine" {
			t.Errorf("the key of the sender became %q", got)
		}
	}
}

// TestHandOnSaysHowLongItWasHeld: what was deployed meanwhile may come first, and is newer nevertheless.
func TestHandOnSaysHowLongItWasHeld(t *testing.T) {
	c := &otherClusters{errs: map[string][]error{"eu": repeated(silent, 3)}}
	h := start(t, setup{config: hubWith(c), objects: acme(elsewhere("prod-eu", "eu"))})
	h.notify(withSHA)
	held := c.last.Delegation.HeldFor
	if want := h.clock.Now().Sub(noon); held != want || held == 0 {
		t.Errorf("it was held for %s, and the cluster was told %s", want, held)
	}
	h = start(t, setup{objects: acme(trigger("e2e"))})
	h.notify(withSHA, func(r *Request) { *r = r.FromHub(&delegation.Delegation{HeldFor: held}) })
	if got := h.suites()[0].Spec.ReceivedAt; !got.Time.Equal(noon.Add(-held).Truncate(time.Microsecond)) {
		t.Errorf("the cluster says that it was received at %s, want %s before %s", got, held, noon)
	}
	for said, want := range map[time.Duration]time.Duration{-time.Hour: 0, time.Hour: delegation.MaxHeld} {
		if got := (Request{}).FromHub(&delegation.Delegation{HeldFor: said}).heldFor; got != want {
			t.Errorf("%s became %s, want %s", said, got, want)
		}
	}
}

// TestHandOnSaysWhatTheSenderMay: the cluster gets the bounds of the sender, not the sender's credential.
func TestHandOnSaysWhatTheSenderMay(t *testing.T) {
	c := &otherClusters{}
	h := start(t, setup{config: hubWith(c), objects: acme(elsewhere("prod-eu", "eu"), elsewhere("load-eu", "eu"))})
	h.notify(withSHA, func(r *Request) {
		r.By, r.Grant.Environments, r.Origin = "the API key ci", []string{"prod-*"}, FromEvent(noon)
	})
	want := delegation.Delegation{For: "the API key ci", Environments: []string{"load-eu", "prod-eu"}, Event: true, DeployedAt: noon}
	want.Bounds.Environments = []string{"prod-*"}
	if diff := cmp.Diff(want, c.last.Delegation); diff != "" {
		t.Error(diff)
	}
}

// TestTriggerOfAnotherCluster: no run is started here for an Environment that is elsewhere.
func TestTriggerOfAnotherCluster(t *testing.T) {
	c := &otherClusters{answer: &httpapi.NotificationResult{}}
	lost := trigger("lost", func(tr *v1alpha1.Trigger) { tr.Spec.Environment = "prod-eu" })
	h := start(t, setup{config: hubWith(c), objects: acme(lost, elsewhere("prod-eu", "eu"))})
	got := h.notify(withSHA).Triggers
	if len(got) != 1 || got[0].Decision != Failed || !strings.Contains(got[0].Reason, "is in the cluster eu") || len(h.suites()) != 0 {
		t.Errorf("got %+v, and %d Suites", got, len(h.suites()))
	}
}

func TestTerminateElsewhere(t *testing.T) {
	ended := &httpapi.TerminationResult{Results: []httpapi.Terminated{{EnvironmentAlias: "preview-1", EnvironmentID: "u", Runs: []string{"r"}}}}
	cases := map[string]struct {
		reason string
		c      *otherClusters
		want   string
	}{
		"there":     {"the cluster has it", &otherClusters{ended: map[string]*httpapi.TerminationResult{"eu": ended}}, "preview-1"},
		"nowhere":   {"nothing has it", &otherClusters{}, "environment_not_found"},
		"no answer": {"it may be there", &otherClusters{errs: map[string][]error{"eu": repeated(silent, 1000)}}, "cluster_unavailable"},
		"refused":   {"the cluster says why", &otherClusters{errs: map[string][]error{"eu": repeated(refused, 1000)}}, "cluster_refused"},
		"refused, and there": {"another cluster has it", &otherClusters{errs: map[string][]error{"aaa": repeated(refused, 1000)},
			ended: map[string]*httpapi.TerminationResult{"eu": ended}}, "preview-1"},
		"silent, and there": {"another cluster has it", &otherClusters{errs: map[string][]error{"aaa": repeated(silent, 1000)},
			ended: map[string]*httpapi.TerminationResult{"eu": ended}}, "preview-1"},
		"refused, and silent": {"it may be in the silent one", &otherClusters{errs: map[string][]error{"aaa": repeated(refused, 1000),
			"eu": repeated(silent, 1000)}}, "cluster_unavailable"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := start(t, setup{config: hubWith(tc.c), objects: acme(elsewhere("preview", "eu"), elsewhere("other", "aaa"))})
			got, err := h.Terminate(t.Context(), Command{Team: h.team, By: "me", ReceivedAt: h.clock.Now()},
				&notification.Termination{DeploymentURL: "https://pr-1.example.com"})
			said := ""
			if failed, ok := errors.AsType[*Error](err); ok {
				said = string(failed.Kind)
			} else if err == nil && len(got) == 1 {
				said = got[0].Environment.Name
			}
			if said != tc.want {
				t.Errorf("%s: got %v, %v; want %s", tc.reason, got, err, tc.want)
			}
		})
	}
}

// TestWithheldTypes: only the hub knows why nothing was started.
func TestWithheldTypes(t *testing.T) {
	h := start(t, setup{config: hubWith(&otherClusters{}), objects: acme(elsewhere("prod-eu", "eu", "production"), elsewhere("load-eu", "eu"))})
	if got := h.notify(`{"sha":"` + sha + `","deployment_type":"staging"}`).Withheld; !slices.Equal(got, []string{"prod-eu"}) {
		t.Errorf("got %v, want only the Environment that does not take the type", got)
	}
}
