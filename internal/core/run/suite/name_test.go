package suite_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

func aRequest(change ...func(*suite.Request)) suite.Request {
	r := suite.Request{
		Trigger:      aTrigger(),
		Environment:  "staging",
		Notification: &notification.Notification{Branch: "refs/heads/main", SHA: "4f2a90b1c3d5e7f900112233445566778899aabb"},
		RequestID:    "request-1",
		ReceivedAt:   t0,
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

func withoutSHA(r *suite.Request) { r.Notification = &notification.Notification{Branch: "main"} }

func TestNewNames(t *testing.T) {
	base := suite.New(aRequest())
	for name, tc := range map[string]struct {
		reason string
		change func(*suite.Request)
		same   bool
	}{
		"SameNotification": {"A retry means the same run.", func(*suite.Request) {}, true},
		"OtherRequest": {"If there is a SHA, the request and its time do not matter.", func(r *suite.Request) {
			r.RequestID, r.ReceivedAt, r.IdempotencyKey = "request-2", t0.Add(time.Hour), "key"
		}, true},
		"OtherBranch": {"The SHA is what was deployed, whatever the branch is called.", func(r *suite.Request) {
			r.Notification.Branch = "other"
		}, true},
		"OtherSHA":         {"", func(r *suite.Request) { r.Notification.SHA = "0" + r.Notification.SHA[1:] }, false},
		"OtherEnvironment": {"", func(r *suite.Request) { r.Environment = "production" }, false},
		"OtherAttempt":     {"", func(r *suite.Request) { r.Attempt = 2 }, false},
		"OtherTrigger": {"A Trigger that was deleted and made again is another one.", func(r *suite.Request) {
			r.Trigger.UID = "uid-other"
		}, false},
		"AService": {"A service is deployed on its own.", func(r *suite.Request) { r.Notification.Service = "cart" }, false},
		"KeyInPlaceOfSHA": {"A key that reads like the SHA is not the SHA.", func(r *suite.Request) {
			r.IdempotencyKey = r.Notification.SHA
			r.Notification.SHA = ""
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := suite.New(aRequest(tc.change))
			if same := got.Name == base.Name; same != tc.same {
				t.Errorf("%s\nsame name: %t, want %t (%s, %s)", tc.reason, same, tc.same, base.Name, got.Name)
			}
			if same := suite.SameRun(got, base); same != tc.same {
				t.Errorf("%s\nSameRun: %t, want %t", tc.reason, same, tc.same)
			}
		})
	}
}

// TestNamesOfServices: each service of a commit has a run of its own, however that is identified, and the names of runs without one stay.
func TestNamesOfServices(t *testing.T) {
	service := func(name string) func(*suite.Request) {
		return func(r *suite.Request) { r.Notification.Service = name }
	}
	tag := func(r *suite.Request) { r.Notification.SHA, r.Notification.Repository = "v1.2", "acme/shop" }
	key := func(r *suite.Request) { r.IdempotencyKey = "k" }
	for name, tc := range map[string]struct {
		change  []func(*suite.Request)
		without string
	}{
		"a commit":   {nil, "smoke-1u7s31eu04kdpbhe"},
		"a tag":      {[]func(*suite.Request){tag}, "smoke-go9qt0kvnrdkavcd"},
		"a key":      {[]func(*suite.Request){withoutSHA, key}, "smoke-4uc72lg7mpfhmi8s"},
		"no version": {[]func(*suite.Request){withoutSHA}, "smoke-g2r4cts6cfuaudec"},
	} {
		of := func(name string) *v1alpha1.Suite { return suite.New(aRequest(append(tc.change, service(name))...)) }
		cart, checkout, whole := of("cart"), of("checkout"), of("")
		if cart.Name == checkout.Name || cart.Name == whole.Name || suite.SameRun(cart, checkout) || suite.SameRun(cart, whole) {
			t.Errorf("%s: services share a run: %s, %s, %s", name, cart.Name, checkout.Name, whole.Name)
		}
		if again := of("cart"); again.Name != cart.Name || !suite.SameRun(again, cart) && name != "no version" {
			t.Errorf("%s: one service has two runs", name)
		}
		if next := suite.Rerun(cart, cart.Spec.Trigger.UID, 2, "request-1"); next.Spec.Deployment.Service != "cart" || next.Name == suite.Rerun(checkout, cart.Spec.Trigger.UID, 2, "request-1").Name {
			t.Errorf("%s: a rerun is of no service: %s", name, next.Name)
		}
		if whole.Name != tc.without {
			t.Errorf("%s: an earlier version named it %s, not %s", name, tc.without, whole.Name)
		}
	}
}

func TestNewWithoutSHA(t *testing.T) {
	key := func(k string) func(*suite.Request) { return func(r *suite.Request) { r.IdempotencyKey = k } }
	request := func(id string) func(*suite.Request) { return func(r *suite.Request) { r.RequestID = id } }
	one := suite.New(aRequest(withoutSHA))
	if two := suite.New(aRequest(withoutSHA, request("request-2"))); one.Name == two.Name {
		t.Error("two requests without SHA and key share a run")
	}
	keyed := suite.New(aRequest(withoutSHA, key("k")))
	if again := suite.New(aRequest(withoutSHA, key("k"), request("request-2"))); keyed.Name != again.Name || !suite.SameRun(keyed, again) {
		t.Error("one Idempotency-Key makes two runs")
	}
	if other := suite.New(aRequest(withoutSHA, key("l"))); keyed.Name == other.Name || suite.SameRun(keyed, other) {
		t.Error("two Idempotency-Keys share a run")
	}
}

func TestNewSpec(t *testing.T) {
	r := aRequest(func(r *suite.Request) {
		r.Notification.Variables = map[string]string{"GREP": "@fast"}
		r.Notification.PullRequestNumber = 7
		r.ReceivedAt = t0.Add(1234567 * time.Nanosecond)
	})
	got := suite.New(r)
	received := metav1.NewMicroTime(t0.Add(1234 * time.Microsecond))
	want := v1alpha1.SuiteSpec{
		Trigger:     v1alpha1.TriggerReference{Name: "smoke", UID: "uid-smoke"},
		Environment: "staging",
		Deployment: v1alpha1.Deployment{
			Branch: "refs/heads/main", SHA: "4f2a90b1c3d5e7f900112233445566778899aabb", PullRequestNumber: 7,
		},
		Variables:    map[string]string{"GREP": "@fast"},
		SupersedeKey: "main/staging",
		Attempt:      1,
		ReceivedAt:   &received,

		TTLAfterFinished: &metav1.Duration{Duration: v1alpha1.DefaultTTL},
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("spec: -want +got\n%s", diff)
	}
	labels := map[string]string{
		v1alpha1.LabelTrigger: "smoke", v1alpha1.LabelEnvironment: "staging", v1alpha1.LabelShortSHA: "4f2a90b1c3d5",
	}
	if diff := cmp.Diff(labels, got.Labels); diff != "" {
		t.Errorf("labels: -want +got\n%s", diff)
	}
	if len(got.OwnerReferences) != 0 {
		t.Errorf("owned by %+v, want nothing", got.OwnerReferences)
	}
	r.Notification.DeduplicationKey = "mine"
	if got := suite.New(r).Spec.SupersedeKey; got != "mine" {
		t.Errorf("supersedeKey = %q, want the deduplication_key", got)
	}
}

// TestNewOfAnEphemeralEnvironment: the run is deleted with the Environment, and does not keep it.
func TestNewOfAnEphemeralEnvironment(t *testing.T) {
	r := aRequest(func(r *suite.Request) { r.Environment, r.EnvironmentUID, r.Ephemeral = "staging-x", "uid-x", true })
	want := []metav1.OwnerReference{{APIVersion: "postflight.dev/v1alpha1", Kind: "Environment", Name: "staging-x", UID: "uid-x"}}
	if diff := cmp.Diff(want, suite.New(r).OwnerReferences); diff != "" {
		t.Error(diff)
	}
}

func TestNewSupersedes(t *testing.T) {
	for name, tc := range map[string]struct {
		policy  v1alpha1.SupersedePolicy
		key     string // of the notification
		wantKey string
	}{
		"by default":           {policy: "", wantKey: "main/staging"},
		"branch":               {policy: "Branch", wantKey: "main/staging"},
		"branch, own key":      {policy: "Branch", key: "mine", wantKey: "mine"},
		"environment":          {policy: "Environment"},
		"environment, own key": {policy: "Environment", key: "mine", wantKey: "mine"},
		"none":                 {policy: "None"},
		"none, own key":        {policy: "None", key: "mine", wantKey: "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			got := suite.New(aRequest(func(r *suite.Request) {
				r.Trigger.Spec.Supersede, r.Notification.DeduplicationKey = tc.policy, tc.key
			})).Spec
			if got.SupersedeKey != tc.wantKey || got.Supersede != tc.policy {
				t.Errorf("supersedeKey %q, supersede %q, want %q, %q", got.SupersedeKey, got.Supersede, tc.wantKey, tc.policy)
			}
		})
	}
}

// FuzzNew checks that the API server accepts every name and label, whatever the notification contains.
func FuzzNew(f *testing.F) {
	f.Add("smoke", "staging", "4f2a90b1", "", int32(1))
	f.Add(strings.Repeat("a-", 31)+"a", "e", "", "key", int32(2))
	f.Add("a", "staging", "v1.2.3-_.", "", int32(-1))
	f.Add("a", "staging", "déploiement №7", "", int32(0))
	f.Fuzz(func(t *testing.T, trigger, environment, sha, key string, attempt int32) {
		if len(validation.IsDNS1123Label(trigger)) != 0 {
			t.Skip("the API server holds the names of Triggers to this")
		}
		s := suite.New(aRequest(func(r *suite.Request) {
			r.Trigger.Name, r.Trigger.UID = trigger, types.UID(trigger)
			r.Environment, r.IdempotencyKey, r.Attempt = environment, key, attempt
			r.Notification = &notification.Notification{SHA: sha}
		}))
		if errs := validation.IsDNS1123Label(s.Name); len(errs) != 0 || len(s.Name) > 52 {
			t.Errorf("name %q: %v", s.Name, errs)
		}
		if errs := validation.IsValidLabelValue(s.Labels[v1alpha1.LabelShortSHA]); len(errs) != 0 {
			t.Errorf("label %q: %v", s.Labels[v1alpha1.LabelShortSHA], errs)
		}
	})
}

func TestEphemeralEnvironment(t *testing.T) {
	base := anEnvironment()
	base.Spec.Variables = v1alpha1.Variables{"SHOP": "demo"}
	base.Spec.MaxConcurrentSuites = 3
	one := suite.EphemeralEnvironment(base, "https://pr-1.example.com", t0)
	if again := suite.EphemeralEnvironment(base, "https://pr-1.example.com", t0.Add(time.Hour)); again.Name != one.Name {
		t.Error("one deployment URL has two Environments")
	}
	if other := suite.EphemeralEnvironment(base, "https://pr-2.example.com", t0); other.Name == one.Name {
		t.Error("two deployment URLs share an Environment")
	}
	if !metav1.IsControlledBy(one, base) {
		t.Error("the Environment does not go with the one it derives from")
	}
	if one.Spec.URL != "https://pr-1.example.com" || one.Spec.Variables["SHOP"] != "demo" {
		t.Errorf("spec = %+v, want the URL of the deployment and the variables of the base", one.Spec)
	}
	if one.Spec.MaxConcurrentSuites != 3 {
		t.Errorf("maxConcurrentSuites = %d, want that of the base", one.Spec.MaxConcurrentSuites)
	}
	base.Name = strings.Repeat("e", 63)
	if errs := validation.IsDNS1123Label(suite.EphemeralEnvironment(base, "https://x", t0).Name); len(errs) != 0 {
		t.Errorf("name: %v", errs)
	}
}

func TestRerunIsTheNextAttempt(t *testing.T) {
	request := suite.Request{Trigger: aTrigger(), Environment: "staging", Notification: &notification.Notification{SHA: "abc", Branch: "main"}, ReceivedAt: t0}
	first := suite.New(request)
	first.Spec.Cancel = true
	request.Attempt = 2
	second := suite.New(request)

	got := suite.Rerun(first, "uid-smoke", 2, "by-hand")
	if got.Name != second.Name || !suite.SameRun(got, second) {
		t.Errorf("the second attempt is %s, want %s as a notification would make it", got.Name, second.Name)
	}
	if got.Spec.Cancel || got.Spec.ReceivedAt != nil || got.Spec.SupersedeKey != first.Spec.SupersedeKey || len(got.Status.Conditions) != 0 {
		t.Errorf("what must not be taken over was, or the reverse: %+v", got.Spec)
	}
}

func TestRerunOfWhatWasRestored(t *testing.T) {
	s := aSuite("smoke-1", 0, restored, func(s *v1alpha1.Suite) {
		s.Labels[v1alpha1.LabelRestored], s.Labels[v1alpha1.LabelTrigger] = "true", "smoke"
	})
	again := suite.Rerun(s, "uid-smoke", 2, "by-hand")
	again.CreationTimestamp = s.CreationTimestamp // as the API server sets it
	if again.Restored() || again.Labels[v1alpha1.LabelTrigger] != "smoke" {
		t.Errorf("the next attempt counts as restored, or lacks a label: %v", again.Labels)
	}
	if !s.Restored() {
		t.Error("the first attempt has lost its labels")
	}
}

func TestRerunWithoutSHA(t *testing.T) {
	s := aSuite("smoke-1", 0, func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "" })
	a, b := suite.Rerun(s, "uid-smoke", 2, "one"), suite.Rerun(s, "uid-smoke", 2, "two")
	if a.Name == b.Name || a.Name == s.Name {
		t.Errorf("two reruns share the name %s", a.Name)
	}
}
