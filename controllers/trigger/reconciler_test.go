package trigger_test

import (
	"fmt"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

func TestTriggerReady(t *testing.T) {
	t.Parallel()
	w := world.New(t)
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
		"Scheduled": {build.Trigger("scheduled", func(t *v1alpha1.Trigger) {
			t.Spec.Schedule = &v1alpha1.TriggerSchedule{Cron: "0 3 * * *", Only: true}
		}), "True", "Scheduled", "matches no notification"},
		"Good":       {build.Trigger("good", matching("notification.sha != ''")), "True", "Watching", ""},
		"Paused":     {build.Trigger("paused", func(t *v1alpha1.Trigger) { t.Spec.Paused = true }), "True", "Paused", "matches no notification"},
		"Expression": {build.Trigger("broken", matching("notification.brunch == 'main'")), "False", "MatchInvalid", "brunch"},
		"Syntax":     {build.Trigger("syntax", matching("(((")), "False", "MatchInvalid", ""},
		"Glob": {build.Trigger("glob", func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = []string{"release/[a"} }),
			"False", "MatchInvalid", "release/[a"},
		"Repository": {build.Trigger("checks", func(t *v1alpha1.Trigger) { t.Spec.Repository = &v1alpha1.Repository{Name: "acme/shop"} }),
			"True", "Watching", ""},
		"Environment": {build.Trigger("lost", lost), "False", "EnvironmentMissing", `no Environment "nowhere"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w.Create(tc.trigger)
			w.Ready(tc.trigger, tc.status, tc.reason, tc.message)
		})
	}
	t.Run("Event", func(t *testing.T) {
		w.Eventually("a warning says why the Trigger cannot match", func() string {
			list := &eventsv1.EventList{}
			w.List(list)
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
		w.Change(o, func(client.Object) { o.Spec.Match.Expression = "true" })
		w.Ready(o, "True", "Watching", "")
		w.Create(build.Environment("nowhere"))
		w.Ready(cases["Environment"].trigger, "True", "Warning", "")
		w.Delete(build.Environment("nowhere"))
		w.Ready(cases["Environment"].trigger, "False", "EnvironmentMissing", "")
	})
}

// TestTriggerWithoutTeam: without its Team, or if that is suspended, nothing starts a run of a Trigger, and its condition says so.
func TestTriggerWithoutTeam(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	w.Create(build.Environment("staging"))
	w.StartManager()
	smoke, invalid := build.Trigger("smoke"), build.Trigger("invalid", func(t *v1alpha1.Trigger) { t.Spec.Match.Expression = "(((" })
	w.Create(smoke, invalid)
	noTeam := fmt.Sprintf("no Team owns the namespace %q. Create its Team, or delete the Trigger.", w.NS)
	w.Ready(smoke, "False", "NoTeam", noTeam) // it never had one
	w.Ready(invalid, "False", "MatchInvalid", "")
	own, rival := build.Team(w.NS, ""), build.Team(w.NS+"-rival", w.NS)
	w.Create(own)
	w.Ready(smoke, "True", "Watching", "")
	w.Create(rival)
	w.Ready(smoke, "False", "NamespaceClaimedTwice", "Let only one of them claim it")
	w.Delete(rival)
	w.Ready(smoke, "True", "Watching", "")
	suspend := func(is bool) { w.Change(own, func(o client.Object) { o.(*v1alpha1.Team).Spec.Suspended = is }) }
	suspend(true)
	w.Ready(smoke, "True", "TeamSuspended", "The team is suspended, so nothing starts a run.")
	w.Ready(invalid, "False", "MatchInvalid", "")
	suspend(false)
	w.Ready(smoke, "True", "Watching", "")
	w.Delete(own)
	w.Ready(smoke, "False", "NoTeam", noTeam)
	w.Create(build.Team(w.NS, ""))
	w.Ready(smoke, "True", "Watching", "")
}

// TestOtherEnvironments: a Trigger that deployments to another Environment match, too, says so while there is that Environment.
func TestOtherEnvironments(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	untyped, typed, prod := build.Trigger("untyped"), build.Trigger("typed"), build.Environment("prod")
	typed.Spec.Match.DeploymentTypes = []string{"staging"}
	w.Create(untyped, typed)
	const waits = "The Trigger waits for notifications."
	says := func(tr *v1alpha1.Trigger, message string) {
		t.Helper()
		w.Await(tr.Name+" is Ready with "+message, tr, func() bool {
			c := meta.FindStatusCondition(tr.Status.Conditions, v1alpha1.ConditionReady)
			return c != nil && c.Status == metav1.ConditionTrue && c.Message == message && (c.Reason == "Warning") == (message != waits)
		})
	}
	says(untyped, waits)
	says(typed, waits)
	w.Create(prod)
	says(untyped, waits+" It also runs when a deployment to prod is notified: list the deployment types of staging in match.deploymentTypes.")
	says(typed, waits)
	if err := w.Client.Delete(t.Context(), prod); err != nil {
		t.Fatal(err)
	}
	says(untyped, waits)
}
