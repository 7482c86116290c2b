package view_test

import (
	"strconv"
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
	waiting := view.TeamOf("a", "a", nil, []*v1alpha1.Suite{run("x", "staging", 48*time.Second, queued)}, now)
	all := view.TeamsOf([]view.TeamRow{waiting, view.TeamOf("b", "b", []*v1alpha1.Trigger{trigger("t", broken)}, nil, now)}, nil, now)
	if all.Rows[0].Name != "b" || !strings.HasSuffix(all.Sentence, "Waiting in a queue: 1 run, the oldest for 48s.") {
		t.Errorf("%s first: %s", all.Rows[0].Name, all.Sentence)
	}
}

// TestTeamsSentence: the first sentence of all teams counts what does not work and what fails, and names the team if it is only one.
func TestTeamsSentence(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	broken := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "Bad glob."}
	team := func(name string, triggers ...string) view.TeamRow { // "broken", "failing" or "good"
		var all []*v1alpha1.Trigger
		var runs []*v1alpha1.Suite
		for i, kind := range triggers {
			tr := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: kind + strconv.Itoa(i)}}
			end := map[string]metav1.Condition{"failing": v1alpha1.Failed("Exit code 1."), "good": v1alpha1.Passed("Good.")}[kind]
			if all = append(all, tr); kind == "broken" {
				tr.Status.Conditions = []metav1.Condition{broken}
				continue
			}
			runs = append(runs, &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: tr.Name, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
				Spec:   v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: tr.Name}, Environment: "staging"},
				Status: v1alpha1.SuiteStatus{Conditions: []metav1.Condition{end}}})
		}
		return view.TeamOf(name, name, all, runs, now)
	}
	for want, rows := range map[string][]view.TeamRow{
		"Nothing fails in 0 teams.":                                                        nil,
		"Nothing fails in 1 team.":                                                         {team("acme", "good")},
		"Nothing fails in 2 teams.":                                                        {team("acme", "good"), team("shop")},
		"1 Trigger of acme fails.":                                                         {team("acme", "failing", "good")},
		"2 Triggers of acme fail.":                                                         {team("acme", "failing", "failing")},
		"1 Trigger of acme does not work.":                                                 {team("acme", "broken")},
		"2 Triggers of nova-shop do not work.":                                             {team("nova-shop", "broken", "broken")},
		"2 Triggers of acme do not work, and 1 fails.":                                     {team("acme", "broken", "broken", "failing")},
		"1 Trigger of acme does not work, and 2 fail.":                                     {team("acme", "broken", "failing", "failing")},
		"1 Trigger of acme fails. Nothing fails in the other team.":                        {team("acme", "failing"), team("shop", "good")},
		"1 Trigger of acme does not work. Nothing fails in the other 2 teams.":             {team("acme", "broken"), team("shop", "good"), team("pay")},
		"2 Triggers of 2 teams do not work, and 1 fails. Nothing fails in the other team.": {team("acme", "broken", "failing"), team("shop", "broken"), team("pay")},
		"2 Triggers of 2 teams fail.":                                                      {team("acme", "failing"), team("shop", "failing")},
	} {
		if got := view.TeamsOf(rows, nil, now).Sentence; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
