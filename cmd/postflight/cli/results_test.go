package cli

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
)

func TestEndOf(t *testing.T) {
	const passed, failed, exitCode = v1alpha1.ReasonPassed, v1alpha1.ReasonFailed, string(v1alpha1.DecidedByExitCode)
	two, bad := &client.TestResults{Tests: 2, Passed: 2}, &client.TestResults{Tests: 2, Passed: 1, Failed: 1}
	for name, tc := range map[string]struct {
		run  client.Run
		want string
	}{
		"tests passed": {client.Run{State: passed, DecidedBy: string(v1alpha1.DecidedByTests), Results: two}, "2 tests passed"},
		"tests failed": {client.Run{State: failed, Results: bad}, "1 of 2 tests failed"},
		"no results": {client.Run{State: passed, DecidedBy: exitCode},
			"passed by its exit code only, because the Trigger asks for no results of its tests"},
		"results that do not decide": {client.Run{State: passed, DecidedBy: exitCode, Results: bad},
			"1 of 2 tests failed; it passed by its exit code only, because results.require of the Trigger is Nothing"},
		"failed by its exit code": {client.Run{State: failed, DecidedBy: exitCode}, ""},
		"canceled":                {client.Run{State: v1alpha1.ReasonCanceled, Message: "Canceled by anna.\x1b[2J"}, "Canceled by anna."},
		"canceled, with results": {client.Run{State: v1alpha1.ReasonCanceled, Message: "Canceled by anna.", Results: two},
			"Canceled by anna. 2 tests passed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := endOf(&tc.run); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestQuarantinedRun: lists and summaries do not show a plain pass.
func TestQuarantinedRun(t *testing.T) {
	r := &client.Run{State: "Passed", Results: &client.TestResults{Tests: 12, Passed: 11, Failed: 1, Quarantined: 1}}
	if got := StateOf(r); got != "Passed (1 quarantined)" {
		t.Error(got)
	}
	if got := TestsOf(r.Results); got != "1 of 12 tests failed, 1 quarantined" {
		t.Error(got)
	}
	for want, f := range map[string]client.TestFailure{
		"known quarantined": {History: "Known", Quarantine: "q"}, "quarantined": {Quarantine: "q"},
		"new quarantine expired": {History: "New", ExpiredQuarantine: "q"}, "-": {},
	} {
		if got := HistoryOf(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	r.Results.TestsExpected = 40
	if got := StateOf(r); got != "Passed (1 quarantined, 12 of 40 tests ran)" {
		t.Error(got)
	}
	r.Results.TestsExpected = 0
	if r.State = "Failed"; StateOf(r) != "Failed" {
		t.Error(StateOf(r))
	}
}
