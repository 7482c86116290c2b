package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// TestIndexCallsStop often if Triggers are costly, and seldom if they are not.
func TestIndexCallsStop(t *testing.T) {
	tests := map[string]struct {
		reason  string
		trigger option
		tried   int // of how many Triggers there is one call
	}{
		"expression": {reason: "each may take 50 ms", trigger: expressionOf("notification.branch.startsWith('m')"), tried: 4},
		"globs":      {reason: "each may take a millisecond", trigger: branches("*{a,b,c,d,e,f,g,h,i,n}*", "**"), tried: 6},
		"braces":     {reason: "what they expand to counts", trigger: branches(strings.Repeat("{a,b}", 6)+"*", "**"), tried: 1},
		"nothing":    {reason: "it takes almost no time", trigger: all(), tried: 64},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			x, n := &Index{}, &notification.Notification{Branch: "main"}
			for i := range 128 {
				x.Set(trigger(fmt.Sprintf("t-%03d", i), tc.trigger))
			}
			calls := 0
			matched, err := x.Match(namespace, n, func() bool { calls++; return false })
			if err != nil || len(matched) != 128 || calls != 128/tc.tried {
				t.Errorf("%s: %d calls, want %d; matched %d, %v", tc.reason, calls, 128/tc.tried, len(matched), err)
			}
			matched, err = x.Match(namespace, n, func() bool { return true })
			var stopped *StoppedError
			if !errors.As(err, &stopped) || matched != nil || stopped.Trigger != fmt.Sprintf("t-%03d", tc.tried-1) {
				t.Errorf("%s: %v, %v; want it to stop at number %d", tc.reason, matched, err, tc.tried)
			}
		})
	}
}

// TestExplainSkips the rest after stop returns true.
func TestExplainSkips(t *testing.T) {
	x, calls := &Index{}, 0
	for _, name := range []string{"a", "b", "c"} {
		x.Set(trigger(name, branches("main")))
	}
	stop := func() bool { calls++; return calls == 2 }
	got := slices.Collect(x.Explain(namespace, &notification.Notification{Branch: "main"}, stop))
	if len(got) != 3 || got[0].Skipped || !got[0].Matched || !got[1].Skipped || !got[2].Skipped || got[2].Criteria != nil {
		t.Errorf("got %+v, want all but the first skipped", got)
	}
}
