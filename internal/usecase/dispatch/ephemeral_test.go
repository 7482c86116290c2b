package dispatch

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

const (
	previewURL = "https://pr-7.example.com"
	preview    = `{"ephemeral_environment":true,"deployment_url":"` + previewURL + `","sha":"` + sha + `"}`
	week       = 7 * 24 * time.Hour
)

// previewEnvironment is the Environment that a notification creates at that time.
func previewEnvironment(at time.Time) *v1alpha1.Environment {
	base := environmentNamed("staging")
	base.UID = "uid-staging"
	return suite.EphemeralEnvironment(base, previewURL, at.Add(week))
}

func TestEphemeralEnvironmentIsCreated(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"), trigger("visual"))})
	got := h.notify(preview)
	want := previewEnvironment(noon)
	made, ok := h.environments()[want.Name]
	if !ok {
		t.Fatalf("no Environment %s", want.Name)
	}
	if diff := cmp.Diff(want.Spec, made.Spec); diff != "" {
		t.Error(diff)
	}
	if owner := metav1.GetControllerOf(&made); owner == nil || owner.UID != "uid-staging" {
		t.Errorf("owner %v, want the Environment it derives from", owner)
	}
	for _, r := range got.Triggers {
		if r.Environment.Name != want.Name || r.Environment.Spec.Ephemeral == nil {
			t.Errorf("environment %+v, want the ephemeral one", r.Environment)
		}
	}
	suites := h.suites()
	if len(suites) != 2 {
		t.Fatalf("%d Suites, want 2", len(suites))
	}
	for _, s := range suites {
		if s.Spec.Environment != want.Name {
			t.Errorf("the Suite %s belongs to the Environment %s, want %s", s.Name, s.Spec.Environment, want.Name)
		}
	}
	if again := h.notify(preview); again.Triggers[0].duplicate() == "" {
		t.Errorf("sent again: %+v, want a duplicate", again)
	}
}

// TestRunsGoWithTheirEphemeralEnvironment: the ephemeral Environment owns its runs, and the one of the Trigger none.
func TestRunsGoWithTheirEphemeralEnvironment(t *testing.T) {
	env := previewEnvironment(noon)
	env.UID = "uid-preview"
	h := start(t, setup{objects: append(acme(trigger("smoke")), env)})
	h.notify(preview)
	h.notify(`{"sha":"` + sha + `"}`)
	owners := map[string]string{}
	for _, s := range h.suites() {
		for _, o := range s.OwnerReferences {
			owners[s.Spec.Environment] += string(o.UID)
		}
	}
	if diff := cmp.Diff(map[string]string{env.Name: "uid-preview"}, owners); diff != "" {
		t.Error(diff)
	}
}

// TestEphemeralEnvironmentOfEachURL: the Environment is part of the identity of a run.
func TestEphemeralEnvironmentOfEachURL(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	h.notify(preview)
	if got := h.notify(strings.Replace(preview, "pr-7", "pr-8", 1)); got.Triggers[0].created() == "" {
		t.Errorf("the same sha elsewhere: %+v, want another run", got)
	}
	if n := len(h.environments()); n != 3 {
		t.Errorf("%d Environments, want the base and two", n)
	}
}

func TestEphemeralEnvironmentIsRenewed(t *testing.T) {
	cases := map[string]struct {
		region string // of the base
		after  time.Duration
		writes int
		end    time.Time
	}{
		"at once":             {"eu", time.Second, 0, noon.Add(week)},
		"at once, if changed": {"changed", time.Second, 1, noon.Add(week + time.Second)},
		"after a day":         {"changed", 24 * time.Hour, 1, noon.Add(week + 24*time.Hour)},
		"after a week":        {"changed", week, 1, noon.Add(2 * week)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			writes := 0
			base := environmentNamed("staging")
			base.Spec.Variables = v1alpha1.Variables{"REGION": tc.region}
			if tc.region == "changed" {
				base.Spec.Settle = &v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: time.Minute}}
			}
			is := previewEnvironment(noon)
			is.Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(noon.Add(time.Hour)), Reason: "debugging"}
			h := start(t, setup{objects: []client.Object{team(namespace), base, trigger("smoke"), is},
				faults: interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					writes++
					return c.Patch(ctx, o, p, opts...)
				}}})
			h.clock.SetTime(noon.Add(tc.after))
			h.notify(preview)
			got := h.environments()[previewEnvironment(noon).Name]
			if end := got.Spec.Ephemeral.ExpiresAt.Time; !end.Equal(tc.end.Truncate(time.Second)) || writes != tc.writes {
				t.Errorf("ends %s after %d writes, want %s after %d", end, writes, tc.end, tc.writes)
			}
			if got.Spec.Variables["REGION"] != tc.region {
				t.Errorf("variables %v, want those of the base as they are now", got.Spec.Variables)
			}
			if diff := cmp.Diff(base.Spec.Settle, got.Spec.Settle); diff != "" {
				t.Errorf("settle, want that of the base as it is now (-want +got):\n%s", diff)
			}
			if got.Spec.Hold == nil || got.Spec.Hold.Reason != "debugging" {
				t.Errorf("hold %+v, want it to be left alone", got.Spec.Hold)
			}
		})
	}
}

func ttl(d time.Duration) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.EphemeralEnvironmentTTL = &metav1.Duration{Duration: d} }
}

func onBranch(name string) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{name} }
}

// TestEphemeralEnvironmentTTL: the longest counts of the Triggers that match and share the Environment, and a later
// shorter one shortens nothing.
func TestEphemeralEnvironmentTTL(t *testing.T) {
	elsewhere := func(t *v1alpha1.Trigger) { t.Spec.Environment = "production" }
	h := start(t, setup{objects: acme(environmentNamed("production"), trigger("default", onBranch("week")),
		trigger("day", ttl(24*time.Hour)), trigger("hour", ttl(time.Hour)), trigger("month", ttl(30*24*time.Hour), elsewhere))})
	send := func(branch string) { h.notify(strings.Replace(preview, "{", `{"branch":"`+branch+`",`, 1)) }
	cases := []struct {
		reason string
		after  time.Duration
		branch string
		want   time.Duration // after noon
	}{
		{"the day is longer than the hour", 0, "main", 24 * time.Hour},
		{"the default is a week", time.Hour, "week", week + time.Hour},
		{"a day is shorter than what is left", 2 * time.Hour, "main", week + time.Hour},
	}
	for _, tc := range cases {
		h.clock.SetTime(noon.Add(tc.after))
		send(tc.branch)
		got := h.environments()[previewEnvironment(noon).Name].Spec.Ephemeral.ExpiresAt
		if want := noon.Add(tc.want).Truncate(time.Second); !got.Time.Equal(want) {
			t.Errorf("%s: expires at %s, want %s", tc.reason, got, want)
		}
	}
}

// TestShortLivedEnvironmentIsRenewedInTime: each notification extends the time, also if that is a minute.
func TestShortLivedEnvironmentIsRenewedInTime(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke", ttl(time.Minute)))})
	h.notify(preview)
	h.clock.SetTime(noon.Add(50 * time.Second))
	h.notify(preview)
	got := h.environments()[previewEnvironment(noon).Name].Spec.Ephemeral.ExpiresAt
	if left := got.Sub(h.clock.Now()); left < 50*time.Second {
		t.Errorf("%s left after a notification, want about a minute", left)
	}
}

// TestConcurrentRenewals: the later end wins, in whatever order two replicas write.
func TestConcurrentRenewals(t *testing.T) {
	long := noon.Add(30 * 24 * time.Hour).Truncate(time.Second)
	once := sync.Once{}
	h := start(t, setup{objects: acme(trigger("smoke"), previewEnvironment(noon.Add(-time.Hour))),
		faults: interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			once.Do(func() {
				other := &v1alpha1.Environment{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), other); err != nil {
					t.Error(err)
				}
				other.Spec.Ephemeral.ExpiresAt = metav1.NewTime(long)
				if err := c.Update(ctx, other); err != nil {
					t.Error(err)
				}
			})
			return c.Patch(ctx, o, p, opts...)
		}}})
	h.notify(preview)
	if got := h.environments()[previewEnvironment(noon).Name].Spec.Ephemeral.ExpiresAt; !got.Time.Equal(long) {
		t.Errorf("expires at %s, want %s as the other replica wrote", got, long)
	}
}

// TestSuiteGoesWithItsEphemeralEnvironment: the garbage collector deletes it, and those of static ones stay.
func TestSuiteGoesWithItsEphemeralEnvironment(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke")), faults: interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			o.SetUID(types.UID("uid-" + o.GetName()))
			return c.Create(ctx, o, opts...)
		}}})
	h.notify(preview)
	h.notify(`{"sha":"other"}`)
	env := h.environments()[previewEnvironment(noon).Name]
	for _, s := range h.suites() {
		var want []metav1.OwnerReference
		if s.Spec.Environment == env.Name {
			want = []metav1.OwnerReference{{APIVersion: "postflight.dev/v1alpha1", Kind: "Environment", Name: env.Name, UID: env.UID}}
		}
		if diff := cmp.Diff(want, s.OwnerReferences); diff != "" {
			t.Errorf("the Suite in %s: %s", s.Spec.Environment, diff)
		}
	}
}

// TestEphemeralEnvironmentNameInUse: another object has the name, or an Environment is being deleted.
func TestEphemeralEnvironmentNameInUse(t *testing.T) {
	cases := map[string]struct {
		change func(*v1alpha1.Environment)
		says   string
		waits  bool
	}{
		"made by hand":    {func(e *v1alpha1.Environment) { e.Spec.Ephemeral = nil }, "was not made for this deployment URL", false},
		"for another URL": {func(e *v1alpha1.Environment) { e.Spec.Ephemeral.DeploymentURL = "https://x.example.com" }, "was not made for this deployment URL", false},
		"of another base": {func(e *v1alpha1.Environment) { e.OwnerReferences[0].UID = "uid-before" }, "was not made for this deployment URL", false},
		"being deleted, long": {func(e *v1alpha1.Environment) {
			e.Finalizers = []string{"postflight.dev/test"}
			e.DeletionTimestamp = &metav1.Time{Time: noon}
		}, "is not gone yet", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			taken := previewEnvironment(noon.Add(-time.Hour))
			tc.change(taken)
			h := start(t, setup{objects: acme(trigger("smoke"), taken)})
			got := h.notify(preview)
			if !strings.Contains(got.Triggers[0].Reason, tc.says) || len(h.suites()) != 0 {
				t.Errorf("%+v and %d Suites, want a failure_reason that says %q, and none", got, len(h.suites()), tc.says)
			}
			if waits := h.clock.Now().After(noon); waits != tc.waits {
				t.Errorf("waits: %v, want %v", waits, tc.waits)
			}
		})
	}
}

// TestNoEphemeralEnvironmentForARefusedVariable: without a run, no bound would count the Environment.
func TestNoEphemeralEnvironmentForARefusedVariable(t *testing.T) {
	onlyGrep := trigger("smoke", func(t *v1alpha1.Trigger) { t.Spec.AllowVariables = []string{"GREP"} })
	for _, name := range []string{"PATH", "TAG"} { // reserved, and not accepted by the Trigger
		h := start(t, setup{objects: acme(onlyGrep)})
		got := h.notify(`{"ephemeral_environment":true,"deployment_url":"` + previewURL + `","variables":{"` + name + `":"x"}}`)
		if got.Triggers[0].Reason == "" || got.Triggers[0].Environment.Name != "staging" {
			t.Errorf("%s: %+v, want a failure in the Environment of the Trigger", name, got)
		}
		if made := h.environments(); len(made) != 1 {
			t.Errorf("%s: %d Environments, want none beside that of the Trigger: no run comes of them, so nothing bounds them", name, len(made))
		}
	}
}

// TestTerminatingEphemeralEnvironment: the Environment is gone at the third attempt, and is created again.
func TestTerminatingEphemeralEnvironment(t *testing.T) {
	old := previewEnvironment(noon.Add(-week))
	old.UID = "uid-old"
	old.Finalizers = []string{"postflight.dev/test"}
	old.DeletionTimestamp = &metav1.Time{Time: noon}
	looks := 0
	h := start(t, setup{objects: acme(trigger("smoke"), old), faults: interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if looks++; looks == 3 {
				going := &v1alpha1.Environment{}
				if err := c.Get(ctx, key, going); err != nil {
					return err
				}
				going.Finalizers = nil
				if err := c.Update(ctx, going); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, o, opts...)
		}}})
	if got := h.notify(preview); got.Triggers[0].created() == "" {
		t.Errorf("%+v, want a created run", got)
	}
	if made := h.environments()[old.Name]; made.UID == "uid-old" || made.DeletionTimestamp != nil {
		t.Errorf("the old Environment is still there: %v", made.ObjectMeta)
	}
}

func TestEphemeralEnvironmentThroughAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, setup{objects: acme(trigger("smoke")), creates: append(repeat(3, fault{err: refusedConnection}), fault{write: true, err: refusedConnection}, fault{err: refusedConnection}, fault{}, fault{write: true, hang: true})})
		if got := h.notify(preview); got.Triggers[0].created() == "" || len(h.suites()) != 1 || len(h.environments()) != 2 {
			t.Errorf("%+v, %d Suites, %d Environments; want created, 1, 2", got, len(h.suites()), len(h.environments()))
		}
	})
}

// TestEphemeralEnvironmentBeyondTheQuota: an existing Environment is renewed even if the quota is used up.
func TestEphemeralEnvironmentBeyondTheQuota(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"), previewEnvironment(noon.Add(-time.Hour))), creates: []fault{{err: quotaUsedUp}}})
	if got := h.notify(preview); got.Triggers[0].created() == "" {
		t.Errorf("renewed: %+v, want a created run", got)
	}
	h.faults.creates = append(h.faults.creates, fault{}, fault{err: quotaUsedUp})
	if got := h.notify(strings.Replace(preview, "pr-7", "pr-8", 1)); !strings.Contains(got.Triggers[0].Reason, "the ephemeral Environment could not be created") {
		t.Errorf("another one: %+v, want a failure_reason", got)
	}
}

func TestURLAloneIsNotEphemeral(t *testing.T) {
	h := start(t, setup{objects: acme(trigger("smoke"))})
	got := h.notify(`{"deployment_url":"` + previewURL + `"}`)
	if len(h.environments()) != 1 || h.suites()[0].Spec.Environment != "staging" {
		t.Errorf("%+v, want a run in staging", got)
	}
}
