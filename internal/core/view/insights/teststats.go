package insights

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/text/plot"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/logtext"
)

// TestRow is a test of a list.
type TestRow struct {
	Name, File string
	Place      string // empty where all of the list have the same
	Query      string // of its page
	State      TestState
	Tags       []string
	Strip      Strip
	Failed     string // failed in 9 of 214 runs
	Share      string // in percent; empty if it did not fail
	Median     string
	LastFailed *view.Time
}

// failedIn is the rate of a test, in the words of every page. The runs are those of its Trigger and Environment.
func failedIn(failed, runs int) string { return "failed in " + plaintext.Share(failed, runs, "run") }

// TestState is how a test does. Key names the icon and the style class.
type TestState struct{ Label, Key string }

// The states of a test over time.
var (
	TestFailing = TestState{"Failing", "failed"}
	TestUnsure  = TestState{"Comes and goes", "flaky"}
	TestPassing = TestState{"Passing", "passed"}
	TestSkipped = TestState{"Skipped", "skipped"}
)

// TestRowsOf returns the rows of a list.
func TestRowsOf(tests []httpapi.TestStats, p Period, now time.Time) (rows []TestRow) {
	places := map[httpapi.Place]bool{}
	for _, t := range tests {
		places[t.Place] = true
	}
	for _, t := range tests {
		row := TestRow{
			Name: testName(t.Name), File: testName(t.File), Query: p.TestQuery(t.Name, t.Place), Strip: StripOf(t.Outcomes),
			Failed: failedIn(t.Failed, t.Runs), Median: milliseconds(t.MedianMilliseconds), State: TestPassing,
		}
		if len(places) > 1 || p.Trigger == "" || p.Environment == "" {
			row.Place = placeName(t.Place)
		}
		if t.Failed > 0 {
			row.Share = plaintext.Percent(t.Failed, t.Runs)
		}
		if t.LastFailedAt != nil {
			row.LastFailed = view.TimeOf(*t.LastFailedAt, now)
		}
		row.addTags(t, now)
		rows = append(rows, row)
	}
	return rows
}

func (row *TestRow) addTags(t httpapi.TestStats, now time.Time) {
	switch {
	case t.FailsSince != nil:
		row.State = TestFailing
		tag := "fails since " + sinceDay(*t.FailsSince, now)
		if t.Failed == 1 {
			tag = "new " + sinceDay(*t.FailsSince, now)
		}
		row.Tags = append(row.Tags, tag)
	case strings.HasSuffix(strings.TrimRight(t.Outcomes, "s-"), "f"):
		row.State = TestFailing
		row.Tags = append(row.Tags, "fails for long")
	case row.Strip.Flips >= comesAndGoes:
		row.State = TestUnsure
	case t.Failed == 0 && t.Outcomes != "" && strings.Trim(t.Outcomes, "s-") == "":
		row.State, row.Failed, row.Median = TestSkipped, "skipped", "–"
	}
	if row.Strip.Flips >= comesAndGoes {
		row.Tags = append(row.Tags, "comes and goes")
	}
	if t.Flaky > 0 {
		row.Tags = append(row.Tags, "repeated "+times(t.Flaky))
	}
}

// SlowRow is a test that takes long.
type SlowRow struct {
	Name, Place, Query string
	Took               string
	Width              float64 // of its bar, in percent
	Change             *Change
}

func slowRowsOf(tests []httpapi.SlowTest, p Period) (rows []SlowRow) {
	var longest int64 = 1
	for _, t := range tests {
		longest = max(longest, t.MedianMilliseconds)
	}
	for _, t := range tests {
		row := SlowRow{Name: testName(t.Name), Place: placeName(t.Place), Query: p.TestQuery(t.Name, t.Place),
			Took:  milliseconds(t.MedianMilliseconds),
			Width: 100 * float64(max(0, t.MedianMilliseconds)) / float64(longest)}
		if c := t.Change; c != nil && math.Abs(*c) >= leastChange && math.Abs(*c) <= 100 {
			if row.Change = (&Change{fmt.Sprintf("%.0f%% faster", -100**c), "better"}); *c > 0 {
				row.Change = &Change{fmt.Sprintf("%.0f%% slower", 100**c), "worse"}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// leastChange is less than what runs differ by chance.
const leastChange = .05

// EndRow is a way in which runs ended.
type EndRow struct {
	State view.State
	Why   string // empty where the state says it all
	Runs  int
	Share string
	Width float64 // of its bar, in percent; grows with the square root
	Query string  // of the list of these runs
}

func endRowsOf(ends []httpapi.InsightsEnd, p Period) (rows []EndRow) {
	most, all := 0, 0
	for _, e := range ends {
		most, all = max(most, e.Runs), all+max(0, e.Runs)
	}
	for _, e := range ends {
		row := EndRow{State: view.StateOfReason(e.State), Runs: e.Runs, Share: plaintext.Percent(e.Runs, all), Width: plot.Share(e.Runs, most),
			Query: p.runsQuery(e.State)}
		if e.Reason != e.State {
			row.Why = plaintext.Line(e.Reason, logtext.MaxTestName)
		}
		rows = append(rows, row)
	}
	return rows
}
