package gate

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/report/greenlight"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// TestExitCodeOfEachEnd: nothing but a pass exits with 0, also a state that only a later server knows.
func TestExitCodeOfEachEnd(t *testing.T) {
	for _, row := range append(state.All(), state.Of("Later")) {
		if row.Open() {
			continue
		}
		c := v1alpha1.Failed("")
		if row.Reason == v1alpha1.ReasonPassed {
			c = v1alpha1.Passed("")
		}
		c.Reason = row.Reason
		s := &v1alpha1.Suite{Status: v1alpha1.SuiteStatus{Conditions: []metav1.Condition{c}}}
		answer := greenlight.Of(s, s, func(*v1alpha1.Suite) string { return "" })
		want := cli.ExitFailed
		switch {
		case s.State() == v1alpha1.ReasonPassed:
			want = cli.ExitPassed
		case row.NoVerdict:
			want = cli.ExitCanceled
		}
		var exit *cli.ExitError
		code := cli.ExitPassed
		if errors.As(verdictError([]RunStatus{{Verdict: verdictOf(&answer, false)}}), &exit) {
			code = exit.Code
		}
		if code != want {
			t.Errorf("%s exits with %d, want %d", row.Reason, code, want)
		}
	}
}
