package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/notification"
)

// TestIndexAsksWhetherToStop in time where Triggers are costly, and seldom where they are not.
func TestIndexAsksWhetherToStop(t *testing.T) {
	tests := map[string]struct {
		reason  string
		trigger option
		tried   int // of how many Triggers it asks once
	}{
		"Expression": {reason: "each may take 50 ms", trigger: expressionOf("notification.branch.startsWith('m')"), tried: 4},
		"Globs":      {reason: "each may take a millisecond", trigger: branches("*{a,b,c,d,e,f,g,h,i,n}*", "**"), tried: 6},
		"Braces":     {reason: "what they expand to counts", trigger: branches(strings.Repeat("{a,b}", 6)+"*", "**"), tried: 1},
		"Nothing":    {reason: "which is soon done", trigger: all(), tried: 64},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			x, n := &Index{}, &notification.Notification{Branch: "main"}
			for i := range 128 {
				x.Set(trigger(fmt.Sprintf("t-%03d", i), tc.trigger))
			}
			asked := 0
			matched, err := x.Match(namespace, n, func() bool { asked++; return false })
			if err != nil || len(matched) != 128 || asked != 128/tc.tried {
				t.Errorf("%s: asked %d times, want %d; matched %d, %v", tc.reason, asked, 128/tc.tried, len(matched), err)
			}
			matched, err = x.Match(namespace, n, func() bool { return true })
			var stopped *StoppedError
			if !errors.As(err, &stopped) || matched != nil || stopped.Trigger != fmt.Sprintf("t-%03d", tc.tried-1) {
				t.Errorf("%s: %v, %v; want it to stop at number %d", tc.reason, matched, err, tc.tried)
			}
		})
	}
}

// TestExplainSkips what is left, and explains nothing of it.
func TestExplainSkips(t *testing.T) {
	x, asked := &Index{}, 0
	for _, name := range []string{"a", "b", "c"} {
		x.Set(trigger(name, branches("main")))
	}
	stop := func() bool { asked++; return asked == 2 }
	got := slices.Collect(x.Explain(namespace, &notification.Notification{Branch: "main"}, stop))
	if len(got) != 3 || got[0].Skipped || !got[0].Matched || !got[1].Skipped || !got[2].Skipped || got[2].Criteria != nil {
		t.Errorf("got %+v, want all but the first skipped", got)
	}
}
