package gate

import (
	"testing"

	"github.com/postflight-dev/postflight/client"
)

func TestSummary(t *testing.T) {
	got := summaryOf([]*client.Run{
		{Trigger: "smoke", State: "Passed", Results: &client.TestResults{Tests: 3, Passed: 3},
			URL: "https://postflight.example.com/runs/acme/smoke-1"},
		{Trigger: "e2e", State: "Failed", Results: &client.TestResults{Tests: 30, Failed: 22, Failures: []client.TestFailure{
			{Name: "pays", Message: "</details>`@everyone` [x](https://evil.example.com)", History: "New"}, {Name: "old", History: "Known"}}}},
		{Trigger: "api", State: "Inconclusive", Message: "3 tests passed. What was tested changed meanwhile.",
			Results: &client.TestResults{Tests: 3, Passed: 3}},
		{Trigger: "visual", State: "TimedOut", Message: "The run took longer than 5m.", URL: "javascript:alert(1)"},
	})
	want := "### Postflight\n\n" +
		"- ✅ `smoke` `passed`: 3 tests passed · [Run](<https://postflight.example.com/runs/acme/smoke-1>)\n" +
		"- ❌ `e2e` `failed`: 22 of 30 tests failed\n" +
		"  - **new** `pays`: `` </details>`@everyone` [x](https://evil.example.com) ``\n" +
		"  - `old`\n" +
		"  - and 20 more\n" +
		"- ❌ `api` `inconclusive`: `3 tests passed. What was tested changed meanwhile.`\n" +
		"- ❌ `visual` `timedout`: `The run took longer than 5m.`\n\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestMarks: anyone who waits at a terminal sees that a run has ended, whatever its verdict.
func TestMarks(t *testing.T) {
	for _, c := range codes {
		if marks[c.verdict].sign == "" {
			t.Errorf("%s looks as if the run had not ended", c.verdict)
		}
	}
}
