package lifecycle

import (
	"fmt"
	"time"

	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// TestComparison says whether the tests of a run are all that PassedBefore had.
type TestComparison struct {
	Done        bool
	Missing     string // a clause: which are missing, or why that is not known; "": none
	Unavailable string // a clause: why the store cannot be used at the moment; "": it was used
}

// TestsCompared takes which tests are missing, as a clause.
func (o *Observation) TestsCompared(missing string) {
	o.Tests = TestComparison{Done: true, Missing: missing}
}

// TestsNotCompared takes why the store cannot be used, as a clause.
func (o *Observation) TestsNotCompared(problem string, now time.Time) {
	if o.Tests.Unavailable = plaintext.Line(problem, maxUnreadable); sinceJobEnded(*o, now) >= readWithin {
		o.TestsCompared("the store that has their names cannot be used: " + o.Tests.Unavailable)
	}
}

// expected is how many tests ran in the last comparable run that passed, if far fewer did in this one; else 0.
func expected(o Observation) int32 {
	if o.PassedBefore == nil || o.Collected == nil || rerunsFailed(o) {
		return 0
	}
	if before := results.Ran(o.PassedBefore.Status.Results); o.Required.Fewer.Far(ran(o), before) {
		return before
	}
	return 0
}

func ran(o Observation) int32 { return o.Collected.Summary.Tests - o.Collected.Summary.Skipped }

func farFewer(o Observation, expected int32) string {
	return fmt.Sprintf("Only %s ran; in %s, the run that passed before, %d did. If that is wrong, check which tests are selected.",
		plaintext.Count(ran(o), "test"), o.PassedBefore.Name, expected)
}
