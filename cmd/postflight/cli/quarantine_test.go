package cli

import (
	"testing"

	"github.com/postflight-dev/postflight/client"
)

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
