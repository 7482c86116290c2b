package view_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view"
)

func TestTeams(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	run := func(trigger, environment string, ago time.Duration, condition metav1.Condition) *v1alpha1.Suite {
		return &v1alpha1.Suite{
			ObjectMeta: metav1.ObjectMeta{Name: trigger + ago.String()},
			Spec:       v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: trigger}, Environment: environment, ReceivedAt: new(metav1.NewMicroTime(now.Add(-ago)))},
			Status:     v1alpha1.SuiteStatus{Conditions: []metav1.Condition{condition}},
		}
	}
	trigger := func(name string, conditions ...metav1.Condition) *v1alpha1.Trigger {
		return &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.TriggerStatus{Conditions: conditions}}
	}
	broken := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "Bad glob."}
	passed, failed, queued := v1alpha1.Passed("Good."), v1alpha1.Failed("Exit code 1."), v1alpha1.Queued("Position 1.")
	const h = time.Hour
	for name, tc := range map[string]struct {
		reason   string
		triggers []*v1alpha1.Trigger
		runs     []*v1alpha1.Suite // newest first
		look     string
		queued   int
	}{
		"nothing":          {"It may be new.", nil, nil, "", 0},
		"all passed":       {"", []*v1alpha1.Trigger{trigger("a")}, []*v1alpha1.Suite{run("a", "staging", h, passed), run("a", "staging", 2*h, failed)}, "", 0},
		"it fails":         {"The first of the failures counts.", []*v1alpha1.Trigger{trigger("a")}, []*v1alpha1.Suite{run("a", "staging", h, failed), run("a", "staging", 2*h, failed), run("a", "staging", 3*h, passed)}, "a fails on staging; it began 2 hours ago.", 0},
		"it fails long":    {"A date says more.", []*v1alpha1.Trigger{trigger("a")}, []*v1alpha1.Suite{run("a", "staging", 72*h, failed)}, "a fails on staging since 17 November, 12:00 UTC.", 0},
		"it runs again":    {"What continues has no result.", []*v1alpha1.Trigger{trigger("a")}, []*v1alpha1.Suite{run("a", "staging", h, queued), run("a", "staging", 2*h, failed)}, "a fails on staging; it began 2 hours ago.", 1},
		"elsewhere":        {"Environments are apart.", []*v1alpha1.Trigger{trigger("a")}, []*v1alpha1.Suite{run("a", "staging", h, passed), run("a", "production", 2*h, failed)}, "a fails on production; it began 2 hours ago.", 0},
		"two":              {"The older one comes first.", []*v1alpha1.Trigger{trigger("a"), trigger("b")}, []*v1alpha1.Suite{run("a", "staging", h, failed), run("b", "staging", 2*h, failed)}, "b fails on staging; it began 2 hours ago. And 1 more.", 0},
		"a broken Trigger": {"It starts no run.", []*v1alpha1.Trigger{trigger("a", broken), trigger("b")}, []*v1alpha1.Suite{run("b", "staging", h, failed)}, "The Trigger a does not work: Bad glob. And 1 more.", 0},
		"a Trigger gone":   {"Nobody can repair it.", nil, []*v1alpha1.Suite{run("a", "staging", h, failed)}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := view.TeamOf("acme", "acme", tc.triggers, tc.runs, now)
			if got.Look != tc.look || got.Queued != tc.queued {
				t.Errorf("%s: %q, %d queued; want %q, %d", tc.reason, got.Look, got.Queued, tc.look, tc.queued)
			}
		})
	}
	good := view.TeamOf("a", "a", nil, []*v1alpha1.Suite{run("x", "staging", 48*time.Second, queued)}, now)
	bad := view.TeamOf("b", "b", []*v1alpha1.Trigger{trigger("t", broken)}, nil, now)
	all := view.TeamsOf([]view.TeamRow{good, bad}, nil, now)
	for want, rows := range map[string][]view.TeamRow{
		"Nothing fails in 1 team.": {good}, "Something fails.": {bad}, "Something fails in all 2 teams.": {bad, bad}, "Nothing fails in 0 teams.": {},
	} {
		if got := view.TeamsOf(rows, nil, now).Sentence; !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if all.Rows[0].Name != "b" || all.Sentence != "Nothing fails in 1 of 2 teams. Waiting in a queue: 1 run, the oldest for 48s." {
		t.Errorf("%s first: %s", all.Rows[0].Name, all.Sentence)
	}
}
