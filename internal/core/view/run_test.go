package view_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view"
)

func ids(rows []view.Row) (all []string) {
	for _, r := range rows {
		all = append(all, r.ID)
	}
	return all
}

func TestRelations(t *testing.T) {
	first := run("first", v1alpha1.Error("The node is gone."), func(s *v1alpha1.Suite) { s.Spec.Attempt = 1 })
	second := run("second", superseded, func(s *v1alpha1.Suite) {
		s.Spec.Attempt, s.Status.SupersededBy = 2, "newer"
		s.Status.Results = &v1alpha1.TestResults{ComparedWith: "before"}
	})
	newer := run("newer", running, func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "other" })
	before := run("before", passed, func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = "older" })
	elsewhere := run("elsewhere", passed, of("smoke", "production", "main"))
	version := func(repository string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA, s.Spec.Deployment.Repository = "v1.0.0", repository }
	}
	shop, spelled, pay := run("shop", passed, version("acme/shop")), run("spelled", passed, version("Acme/Shop")), run("pay", passed, version("acme/pay"))
	all := []*v1alpha1.Suite{newer, second, first, before, elsewhere, shop, spelled, pay}

	got := view.RunOf(view.Subject{Suite: second, Runs: all}, now)
	if diff := cmp.Diff([]string{"second", "first"}, ids(got.Attempts)); diff != "" {
		t.Errorf("attempts: %s", diff)
	}
	if diff := cmp.Diff([]string{"shop", "spelled"}, ids(view.RunOf(view.Subject{Suite: shop, Runs: all}, now).Attempts)); diff != "" {
		t.Errorf("attempts of a version: %s", diff)
	}
	if got.SupersededBy == nil || got.SupersededBy.ID != "newer" || got.ComparedWith == nil || got.ComparedWith.ID != "before" {
		t.Errorf("superseded by %v, compared with %v", got.SupersededBy, got.ComparedWith)
	}
	if diff := cmp.Diff([]string{"second"}, ids(view.RunOf(view.Subject{Suite: newer, Runs: all}, now).Supersedes)); diff != "" {
		t.Errorf("supersedes: %s", diff)
	}
}

// TestOtherDeployment: a run that answered a notification of another deployment says so.
func TestOtherDeployment(t *testing.T) {
	if got := view.RunOf(view.Subject{Suite: run("a", passed)}, now).Other; got != nil {
		t.Errorf("%+v", got)
	}
	other := run("a", passed, func(s *v1alpha1.Suite) {
		s.Status.AnsweredOther = &v1alpha1.OtherDeployment{URL: "javascript:alert(1)", NotifiedAt: metav1.NewTime(now),
			Differs: []v1alpha1.Difference{v1alpha1.DifferentURL, v1alpha1.UnknownInputs}}
	})
	got := view.RunOf(view.Subject{Suite: other}, now).Other
	if got == nil || got.With != "another URL and perhaps other input files" || got.At.URL != "" || got.At.Text != "javascript:alert(1)" {
		t.Errorf("%+v", got)
	}
}

func TestWarnings(t *testing.T) {
	s := run("a", running, func(s *v1alpha1.Suite) {
		s.Status.Conditions = append(s.Status.Conditions,
			v1alpha1.StoreUnavailable("The store does not answer."), v1alpha1.InputsFound("All files were found."), v1alpha1.ObjectMissing("The Trigger \"smoke\" does not exist."))
		s.Status.PodProblem = "The container tests was killed because it used too much memory."
	})
	want := []string{"The store does not answer.", "The container tests was killed because it used too much memory."}
	if diff := cmp.Diff(want, view.RunOf(view.Subject{Suite: s}, now).Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestVariables(t *testing.T) {
	s := run("a", running, func(s *v1alpha1.Suite) {
		s.Spec.Variables = v1alpha1.Variables{"B": "2", "NPM_TOKEN": "hunter2", "A": "1"}
	})
	want := []view.Variable{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "NPM_TOKEN", Value: "***"}}
	if diff := cmp.Diff(want, view.VariablesOf(s)); diff != "" {
		t.Error(diff)
	}
}

func TestFailuresAreInOrder(t *testing.T) {
	s := run("a", failed, results(v1alpha1.TestResults{Tests: 30, Failed: 25, Failures: []v1alpha1.TestFailure{
		failure("known", v1alpha1.FailureKnown), failure("unclear", ""), {Name: "new", File: "a.spec.ts", Line: 3, History: v1alpha1.FailureNew},
	}}))
	got := view.TestsOf(s)
	want := []view.Failure{{Name: "new", Location: "a.spec.ts:3", New: true}, {Name: "unclear"}, {Name: "known", Known: true}}
	if diff := cmp.Diff(want, got.Failures); diff != "" || got.More != 22 {
		t.Errorf("%d more: %s", got.More, diff)
	}
}

// TestChain: each run took the place of the one before.
func TestChain(t *testing.T) {
	by := func(id string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Status.SupersededBy = id }
	}
	runs := []*v1alpha1.Suite{ // newest first
		run("e", running, of("smoke", "staging", "main")), run("other", superseded, by("elsewhere")),
		run("d", superseded, by("e")), run("c", superseded, by("d")), run("b", superseded, by("c")), run("a", superseded, by("b")),
	}
	names := func(rows []view.Row) (all string) {
		for _, r := range rows {
			all += r.ID
		}
		return all
	}
	got := view.RunOf(view.Subject{Suite: runs[3], Runs: runs}, now)
	if names(got.Successors) != "ed" || names(got.Supersedes) != "ba" || got.SupersededBy.ID != "d" {
		t.Errorf("after it came %q, before it %q, its successor is %+v", names(got.Successors), names(got.Supersedes), got.SupersededBy)
	}
}

func TestHistory(t *testing.T) {
	comesAndGoes, lasts := failure("cart", ""), failure("login", "")
	runs := []*v1alpha1.Suite{ // newest first
		run("5", running, started(0)),
		run("4", failed, ran(0, 4*time.Minute), results(v1alpha1.TestResults{Tests: 2, Failed: 2, Failures: []v1alpha1.TestFailure{comesAndGoes, lasts}})),
		run("3", failed, ran(0, 2*time.Minute), results(v1alpha1.TestResults{Tests: 2, Failed: 1, Flaky: 1, Failures: []v1alpha1.TestFailure{lasts}})),
		run("2", superseded, ran(0, time.Minute)),
		run("1", failed, ran(0, 3*time.Minute), results(v1alpha1.TestResults{Tests: 2, Failed: 1, Failures: []v1alpha1.TestFailure{comesAndGoes}})),
		run("0", passed, ran(0, 5*time.Minute)),
	}
	h := view.HistoryOf(runs, now)
	if h.Runs != 4 || h.PassRate != "25%" || h.Median != "4m 00s" || h.Repeated != 1 || h.Sometimes != 1 {
		t.Errorf("%d runs with a result, %s passed, the median is %s, in %d tests passed when repeated; %d come and go", h.Runs, h.PassRate, h.Median, h.Repeated, h.Sometimes)
	}
	want := []view.FailingTest{{Name: "cart", Runs: 2, Failed: "failed in 2 of 3 runs", Sometimes: true}, {Name: "login", Runs: 2, Failed: "failed in 2 of 3 runs"}}
	if diff := cmp.Diff(want, h.Failing); diff != "" {
		t.Error(diff)
	}
	if len(h.Bars) != 6 || h.Bars[0].ID != "0" || h.Bars[0].Y >= h.Bars[1].Y {
		t.Errorf("bars are oldest first, and those that failed hang: %+v", h.Bars)
	}
	if h := view.HistoryOf(nil, now); h.PassRate != "" || h.Median != "" || len(h.Bars) != 0 {
		t.Errorf("no runs have a history: %+v", h)
	}
}

func TestBoard(t *testing.T) {
	triggers := []*v1alpha1.Trigger{
		{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Spec: v1alpha1.TriggerSpec{Environment: "staging"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "smoke"}, Spec: v1alpha1.TriggerSpec{Environment: "staging"}},
	}
	runs := []*v1alpha1.Suite{
		run("5", running), run("4", passed), run("3", passed, func(s *v1alpha1.Suite) {
			s.Spec.ReceivedAt, s.CreationTimestamp = nil, metav1.NewTime(now.Add(-3*time.Hour))
		}),
		run("2", failed, func(s *v1alpha1.Suite) {
			s.Spec.ReceivedAt, s.CreationTimestamp = nil, metav1.NewTime(now.Add(-9*time.Hour))
		}),
		run("1", failed, of("load", "production", "main")),
		run("0", failed, service("cart")), run("00", passed, service("mail")), run("000", passed, service("cart")),
	}
	var got []string
	for _, tile := range view.Board(triggers, runs, now) {
		got = append(got, tile.Name()+" "+tile.State.Key+" "+tile.Since)
	}
	want := []string{"load failed failing for 10 minutes", "smoke cart failed failing for 10 minutes", "new none ",
		"smoke running passing for 2 hours", "smoke mail passed passing for 10 minutes"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("those that need a look come first: %s", diff)
	}
}

// TestTrail: it has the last twelve results, and the time since the first of those that are alike, however old that is.
func TestTrail(t *testing.T) {
	at := func(hours int) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) {
			s.Spec.ReceivedAt, s.CreationTimestamp = nil, metav1.NewTime(now.Add(time.Duration(-hours)*time.Hour-time.Minute))
		}
	}
	for name, tc := range map[string]struct {
		reason string
		ends   string // newest first: passed, failed, superseded
		since  string
		trail  string // oldest first
	}{
		"short":            {"", "pfs", "passing for 1 hour", "fp"},
		"no result":        {"", "ss", "", ""},
		"fails again":      {"A run without a result breaks nothing.", "fsfp", "failing for 3 hours", "pff"},
		"always passed":    {"The oldest counts.", "pppppppppppppppppppp", "passing for 20 hours", "pppppppppppp"},
		"broken late":      {"It began before the trail.", "pppppppppppppppfpppp", "passing for 15 hours", "pppppppppppp"},
		"broken at once":   {"The trail continues.", "fppppppppppppppppppp", "failing for 1 hour", "pppppppppppf"},
		"comes and goes":   {"", "pfpfpfpfpfpfpfpfpfpf", "passing for 1 hour", "fpfpfpfpfpfp"},
		"trail ends at 12": {"", "ppppppppppppf", "passing for 12 hours", "pppppppppppp"},
	} {
		t.Run(name, func(t *testing.T) {
			ends := map[rune]metav1.Condition{'p': passed, 'f': failed, 's': superseded}
			var runs []*v1alpha1.Suite
			for i, end := range tc.ends {
				runs = append(runs, run(fmt.Sprint(i), ends[end], at(i+1)))
			}
			tile, trail := view.Board(nil, runs, now)[0], ""
			for _, key := range tile.Trail {
				trail += key[:1]
			}
			if tile.ID != "0" || tile.Since != tc.since || trail != tc.trail {
				t.Errorf("the tile of %s is %q with the trail %s, want %q, %s: %s", tile.ID, tile.Since, trail, tc.since, tc.trail, tc.reason)
			}
		})
	}
}

// TestTriggersThatDoNotWork: the board and the list of Triggers warn of them with the message of Ready, whatever their last run said. Others
// without a run say what they wait for.
func TestTriggersThatDoNotWork(t *testing.T) {
	ready := func(status metav1.ConditionStatus, message string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionReady, Status: status, Reason: "Because", Message: message}
	}
	const missing, paused = `There is no Environment "staging" in this namespace.`, "The Trigger is paused and matches no notification."
	green := []*v1alpha1.Suite{run("1", passed), run("0", passed, of("smoke", "pr-7", "main"))}
	for name, tc := range map[string]struct {
		reason string
		ready  []metav1.Condition
		runs   []*v1alpha1.Suite
		board  []string
		list   string
	}{
		"it never ran":         {"It will not.", []metav1.Condition{ready("False", missing)}, nil, []string{"Does not work: " + missing}, "Does not work"},
		"its last run passed":  {"That was before. Other places tell what ran there.", []metav1.Condition{ready("False", missing)}, green, []string{"Does not work: " + missing, "Passed: The tests passed."}, "Does not work"},
		"without a message":    {"The reason is better than nothing.", []metav1.Condition{ready("False", "")}, nil, []string{"Does not work: Because"}, "Does not work"},
		"it waits":             {"The condition says for what.", []metav1.Condition{ready("True", paused)}, nil, []string{"No run yet: " + paused}, "No run yet"},
		"nothing has seen it":  {"It is new.", nil, nil, []string{"No run yet: It runs with the next deployment that it matches."}, "No run yet"},
		"it works and has run": {"Its last run counts.", []metav1.Condition{ready("True", "")}, green, []string{"Passed: The tests passed.", "Passed: The tests passed."}, "Passed"},
	} {
		t.Run(name, func(t *testing.T) {
			triggers := []*v1alpha1.Trigger{{ObjectMeta: metav1.ObjectMeta{Name: "smoke"}, Spec: v1alpha1.TriggerSpec{Environment: "staging"},
				Status: v1alpha1.TriggerStatus{Conditions: tc.ready}}}
			var board []string
			for _, tile := range view.Board(triggers, tc.runs, now) {
				board = append(board, tile.State.Label+": "+tile.Why)
			}
			slices.Sort(board)
			if diff := cmp.Diff(tc.board, board); diff != "" {
				t.Errorf("%s: on the board: %s", tc.reason, diff)
			}
			if got := view.TriggersOf(triggers, tc.runs, now)[0]; got.State.Label != tc.list || got.Warning != "" {
				t.Errorf("%s: in the list: %s %s, want %s", tc.reason, got.State.Label, got.Warning, tc.list)
			}
			for i := range triggers[0].Status.Conditions {
				triggers[0].Status.Conditions[i].Reason = v1alpha1.ReasonWarning
			}
			want := ""
			if len(tc.ready) > 0 && tc.ready[0].Status == metav1.ConditionTrue {
				want = tc.ready[0].Message
			}
			if got := view.TriggersOf(triggers, tc.runs, now)[0].Warning; got != want {
				t.Errorf("the list warns: %q, want %q", got, want)
			}
		})
	}
}

func service(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Service = name }
}

// TestDebuggable: people look around after what ended badly, as long as its Job exists.
func TestDebuggable(t *testing.T) {
	j := &batchv1.Job{}
	for name, tc := range map[string]struct {
		end  metav1.Condition
		job  *batchv1.Job
		kept time.Duration // from now
		want bool
	}{
		"failed":                  {v1alpha1.Failed("Exit code 1."), j, time.Hour, true},
		"an error":                {v1alpha1.Error("The node is gone."), j, time.Second, true},
		"passed":                  {v1alpha1.Passed("ok"), j, time.Hour, false},
		"running":                 {v1alpha1.Running("busy"), j, time.Hour, false},
		"its Job is gone":         {v1alpha1.Failed("Exit code 1."), nil, time.Hour, false},
		"its pods may be deleted": {v1alpha1.Failed("Exit code 1."), j, -time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := run("a", tc.end, func(s *v1alpha1.Suite) {
				s.Status.PodsKeptUntil = new(metav1.NewTime(now.Add(tc.kept)))
				s.Annotations = map[string]string{v1alpha1.AnnotationRepeats: "before", v1alpha1.AnnotationRetries: "1"}
			})
			got := view.RunOf(view.Subject{Suite: s, Job: tc.job}, now)
			if got.Debuggable != tc.want || (got.PodsKept != nil) != (tc.kept > 0) || got.Repeats != "before" || got.Retries != 1 {
				t.Errorf("%t, %v, %q, %d", got.Debuggable, got.PodsKept, got.Repeats, got.Retries)
			}
		})
	}
}
