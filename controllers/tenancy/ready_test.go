package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// ready waits for the Ready condition of an object that exists.
func (w *world) ready(o client.Object, status metav1.ConditionStatus, reason, message string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%T %s is Ready %s (%s) with %q", o, o.GetName(), status, reason, message), func() string {
		w.must(w.Client.Get(context.Background(), client.ObjectKeyFromObject(o), o))
		c := meta.FindStatusCondition(conditionsOf(o), v1alpha1.ConditionReady)
		if c != nil && c.Status == status && c.Reason == reason && strings.Contains(c.Message, message) && c.ObservedGeneration == o.GetGeneration() {
			return ""
		}
		return fmt.Sprintf("%+v of generation %d", c, o.GetGeneration())
	})
}

func conditionsOf(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *v1alpha1.Team:
		return o.Status.Conditions
	case *v1alpha1.APIKey:
		return o.Status.Conditions
	case *v1alpha1.Trigger:
		return o.Status.Conditions
	case *v1alpha1.Environment:
		return o.Status.Conditions
	case *v1alpha1.Quarantine:
		return o.Status.Conditions
	default:
		return nil
	}
}

func TestTriggerReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	matching := func(expression string) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) { t.Spec.Match.Expression = expression }
	}
	lost := func(t *v1alpha1.Trigger) { t.Spec.Environment = "nowhere" }
	cases := map[string]struct {
		trigger *v1alpha1.Trigger
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"Scheduled": {aTrigger("scheduled", func(t *v1alpha1.Trigger) {
			t.Spec.Schedule = &v1alpha1.TriggerSchedule{Cron: "0 3 * * *", Only: true}
		}), "True", "Scheduled", "matches no notification"},
		"Good":       {aTrigger("good", matching("notification.sha != ''")), "True", "Watching", ""},
		"Paused":     {aTrigger("paused", func(t *v1alpha1.Trigger) { t.Spec.Paused = true }), "True", "Paused", "matches no notification"},
		"Expression": {aTrigger("broken", matching("notification.brunch == 'main'")), "False", "MatchInvalid", "brunch"},
		"Syntax":     {aTrigger("syntax", matching("(((")), "False", "MatchInvalid", ""},
		"Glob": {aTrigger("glob", func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release/[a"} }),
			"False", "MatchInvalid", "release/[a"},
		"Repository": {aTrigger("checks", func(t *v1alpha1.Trigger) { t.Spec.Repository = &v1alpha1.Repository{Name: "acme/shop"} }),
			"True", "Watching", ""},
		"Environment": {aTrigger("lost", lost), "False", "EnvironmentMissing", `no Environment "nowhere"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w.create(tc.trigger)
			w.ready(tc.trigger, tc.status, tc.reason, tc.message)
		})
	}
	t.Run("Event", func(t *testing.T) {
		w.eventually("a warning says why the Trigger cannot match", func() string {
			list := &eventsv1.EventList{}
			w.must(w.Client.List(context.Background(), list, client.InNamespace(w.ns)))
			for _, e := range list.Items {
				if e.Regarding.Kind == "Trigger" && e.Regarding.Name == "broken" && e.Type == "Warning" && e.Reason == "MatchInvalid" && strings.Contains(e.Note, "brunch") {
					return ""
				}
			}
			return fmt.Sprintf("%d other events", len(list.Items))
		})
	})
	t.Run("Fixed", func(t *testing.T) {
		o := cases["Expression"].trigger
		w.change(o, func(client.Object) { o.Spec.Match.Expression = "true" })
		w.ready(o, "True", "Watching", "")
		w.create(anEnvironment("nowhere"))
		w.ready(cases["Environment"].trigger, "True", "Watching", "")
		w.must(w.Client.Delete(context.Background(), &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "nowhere", Namespace: w.ns}}))
		w.ready(cases["Environment"].trigger, "False", "EnvironmentMissing", "")
	})
}

func TestTeamReady(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.startManager(w.ns+"-of-it", w.ns+"-of-suspended")
	ctx := context.Background()
	missing := aTeam(w.ns+"-missing", w.ns+"-of-it")
	first, second := aTeam(w.ns+"-first", w.ns), aTeam(w.ns+"-second", w.ns)
	suspended := aTeam(w.ns+"-suspended", w.ns+"-of-suspended", func(t *v1alpha1.Team) { t.Spec.Suspended = true })
	of := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}

	w.create(missing)
	w.ready(missing, "False", "NamespaceMissing", w.ns+"-of-it")
	w.must(w.Client.Create(ctx, of(w.ns+"-of-it")))
	w.ready(missing, "True", "Active", "")

	w.create(first)
	w.ready(first, "True", "Active", "")
	w.create(second)
	w.ready(first, "False", "NamespaceClaimedTwice", second.Name)
	w.ready(second, "False", "NamespaceClaimedTwice", first.Name)
	w.must(w.Client.Delete(ctx, second))
	w.ready(first, "True", "Active", "")

	w.must(w.Client.Create(ctx, of(w.ns+"-of-suspended")))
	w.create(suspended)
	w.ready(suspended, "True", "Suspended", "403")
}

func aKey(name string, change ...func(*v1alpha1.APIKey)) *v1alpha1.APIKey {
	k := &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Name: name}}
	k.Spec.SHA256 = strings.Repeat("0", 64-len(name)) + strings.NewReplacer("-", "0").Replace(name)
	for _, c := range change {
		c(k)
	}
	return k
}

func TestAPIKeyReady(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	other := w.Namespace(t)
	w.startManager(other)
	ctx := context.Background()
	until := func(d time.Duration) func(*v1alpha1.APIKey) {
		return func(k *v1alpha1.APIKey) { k.Spec.ExpiresAt = new(metav1.NewTime(time.Now().Add(d))) }
	}
	good, expired, expiring := aKey("a1"), aKey("a2", until(-time.Hour)), aKey("a3", until(3*time.Second))
	suspended := aKey("a4", func(k *v1alpha1.APIKey) { k.Spec.Suspended = true })
	w.create(good, expired, expiring, suspended)
	w.ready(good, "False", "NoTeam", w.ns)
	w.create(aTeam(w.ns, ""))
	w.ready(good, "True", "Accepted", w.ns)
	w.ready(expired, "False", "Expired", "401")
	w.ready(suspended, "False", "Suspended", "401")
	w.ready(expiring, "False", "Expired", "401") // by itself, once the time comes

	copied := aKey("copied", func(k *v1alpha1.APIKey) { k.Spec.SHA256, k.Namespace = good.Spec.SHA256, other })
	named := aKey("a5", func(k *v1alpha1.APIKey) { k.Spec.NamesNamespace = true })
	namedCopy := aKey("named-copy", func(k *v1alpha1.APIKey) { k.Spec.SHA256, k.Namespace = named.Spec.SHA256, other })
	w.create(copied, named, namedCopy)
	w.ready(copied, "False", "NoTeam", other)
	w.ready(good, "True", "Accepted", "") // a namespace without a Team affects no other
	w.create(aTeam(other, ""))
	w.ready(copied, "False", "UsedTwice", "postflight keys create")
	w.ready(good, "False", "UsedTwice", "postflight keys create")
	w.ready(named, "True", "Accepted", "if it names the namespace")
	w.must(w.Client.Delete(ctx, aTeam(other, "")))
	w.ready(good, "True", "Accepted", "")
	w.must(w.Client.Delete(ctx, copied))

	old := aKey("old", until(3*time.Second), func(k *v1alpha1.APIKey) { k.Spec.SHA256 = good.Spec.SHA256 })
	w.create(old)
	w.ready(good, "False", "Revoked", "401") // when the other one has expired
	w.must(w.Client.Delete(ctx, old))
	w.ready(good, "True", "Accepted", "")
	w.create(aTeam(w.ns+"-too", w.ns))
	w.ready(good, "False", "NamespaceClaimedTwice", "Several Teams")
}
