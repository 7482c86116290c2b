package main

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
)

func TestEndOf(t *testing.T) {
	const passed, failed, exitCode = v1alpha1.ReasonPassed, v1alpha1.ReasonFailed, string(v1alpha1.DecidedByExitCode)
	two, bad := &client.TestResults{Tests: 2, Passed: 2}, &client.TestResults{Tests: 2, Passed: 1, Failed: 1}
	for name, tc := range map[string]struct {
		run  client.Run
		want string
	}{
		"tests passed":               {client.Run{State: passed, DecidedBy: string(v1alpha1.DecidedByTests), Results: two}, "2 tests passed"},
		"tests failed":               {client.Run{State: failed, Results: bad}, "1 of 2 tests failed"},
		"no results":                 {client.Run{State: passed, DecidedBy: exitCode}, "passed by its exit code only, because the Trigger asks for no results of its tests"},
		"results that do not decide": {client.Run{State: passed, DecidedBy: exitCode, Results: bad}, "1 of 2 tests failed; it passed by its exit code only, because results.require of the Trigger is Nothing"},
		"failed by its exit code":    {client.Run{State: failed, DecidedBy: exitCode}, ""},
		"canceled":                   {client.Run{State: v1alpha1.ReasonCanceled, Message: "Canceled by anna.\x1b[2J"}, "Canceled by anna."},
		"canceled, with results":     {client.Run{State: v1alpha1.ReasonCanceled, Message: "Canceled by anna.", Results: two}, "Canceled by anna. 2 tests passed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := cli.EndOf(&tc.run); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
