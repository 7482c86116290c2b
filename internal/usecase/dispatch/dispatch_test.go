package dispatch

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestManyTriggers(t *testing.T) {
	objects := acme()
	var want []string
	for i := range 100 {
		name := "t" + string(rune('a'+i/10)) + string(rune('a'+i%10))
		objects = append(objects, trigger(name))
		want = append(want, name)
	}
	h := start(t, setup{objects: objects})
	var got []string
	for _, r := range h.notify(withSHA).Triggers {
		got = append(got, r.Trigger)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("not ordered by name:\n%s", diff)
	}
	if n := len(h.suites()); n != 100 {
		t.Errorf("%d Suites, want 100", n)
	}
}

func TestNewNeedsItsParts(t *testing.T) {
	h := start(t, setup{})
	for name, remove := range map[string]func(*Config){
		"cache":    func(c *Config) { c.Cache = nil },
		"live":     func(c *Config) { c.Live = nil },
		"writer":   func(c *Config) { c.Writer = nil },
		"triggers": func(c *Config) { c.Triggers = nil },
		"budget":   func(c *Config) { c.Budget = 0 },
		"clock":    func(c *Config) { c.Clock = nil },
		"server":   func(c *Config) { c.ServerTime = nil },
	} {
		config := h.Config
		remove(&config)
		if _, err := New(config); err == nil {
			t.Errorf("%s: a Dispatcher without it was made", name)
		}
	}
}

// forbidden is a Writer that dry runs must not touch: it panics.
type forbidden struct{ Writer }

func TestDryRunWritesNothing(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke")), config: func(c *Config) { c.Writer = forbidden{} }})
	for _, body := range []string{withSHA, preview} {
		if got := h.notify(body, dryRun).Triggers; len(got) != 1 || got[0].created() == "" {
			t.Errorf("%+v, want a run that would be created", got)
		}
	}
}

func TestDryRunTellsTheTruth(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	would := h.notify(withSHA, dryRun).Triggers[0].created()
	did := h.notify(withSHA).Triggers[0].created()
	again := h.notify(withSHA, dryRun).Triggers[0].duplicate()
	if would != did || did != again {
		t.Errorf("would create %q, created %q, would be a duplicate of %q; want the same", would, did, again)
	}
}

// TestPanicOverOneTrigger: a panic over one Trigger must not hide the results of others.
func TestPanicOverOneTrigger(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("a"), trigger("b")), faults: interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if o.(*v1alpha1.Suite).Spec.Trigger.Name == "a" {
				panic("a bug")
			}
			return c.Create(ctx, o, opts...)
		}}})
	got := h.notify(withSHA).Triggers
	if got[0].Reason == "" || got[0].Decision != Failed || got[1].created() == "" {
		t.Errorf("got %+v, want a reason for a and a run for b", got)
	}
	if log := h.log.String(); !strings.Contains(log, "a bug") || !strings.Contains(log, "dispatch_test.go") {
		t.Errorf("the log does not say where: %s", log)
	}
}

// TestStoredTimesAreTheServers: stored times are by the API server's clock, even if the replica's clock is wrong.
func TestStoredTimesAreTheServers(t *testing.T) {
	h := start(t, setup{
		objects: acme(trigger("smoke")),
		config:  func(c *Config) { c.ServerTime = func(t time.Time) time.Time { return t.Add(-time.Hour) } },
	})
	h.notify(preview)
	if got := h.suites()[0].Spec.ReceivedAt; !got.Time.Equal(noon.Add(-time.Hour)) {
		t.Errorf("received at %s, want an hour before %s", got, noon)
	}
	for _, e := range h.environments() {
		want := noon.Add(week - time.Hour)
		if e.Spec.Ephemeral != nil && (e.Spec.Ephemeral.ExpiresAt.Sub(want)).Abs() > time.Second {
			t.Errorf("expires at %s, want %s", e.Spec.Ephemeral.ExpiresAt, want)
		}
	}
}

// TestLargeSuitesAreCreatedFewAtOnce: each is in memory until the API server has stored it.
func TestLargeSuitesAreCreatedFewAtOnce(t *testing.T) {
	cases := map[string]struct {
		reason      string
		value       string
		least, most int
	}{
		"small":   {reason: "usual notifications are not slowed down", value: "x", least: 4, most: 16},
		"medium":  {reason: "three fit", value: strings.Repeat("x", 8<<10), least: 2, most: 3},
		"large":   {reason: "one always is", value: strings.Repeat("x", 30<<10), least: 1, most: 1},
		"escaped": {reason: "what counts is what is sent", value: strings.Repeat("<", 6<<10), least: 1, most: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objects := acme()
				for i := range 20 {
					objects = append(objects, trigger(fmt.Sprintf("t%02d", i)))
				}
				var mu sync.Mutex
				now, most := 0, 0
				count := func(n int) {
					mu.Lock()
					defer mu.Unlock()
					now += n
					most = max(most, now)
				}
				h := start(t, setup{objects: objects, limits: func(l *Limits) { l.AttemptTimeout = time.Minute }, faults: interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
						count(1)
						defer count(-1)
						time.Sleep(5 * time.Millisecond)
						return c.Create(ctx, o, opts...)
					}}})
				h.notify(fmt.Sprintf(`{"variables":{"A":%q}}`, tc.value))
				if most < tc.least || most > tc.most {
					t.Errorf("%s: %d Suites at once, want %d to %d", tc.reason, most, tc.least, tc.most)
				}
			})
		})
	}
}
