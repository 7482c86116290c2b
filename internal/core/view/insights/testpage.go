package insights

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/logtext"
)

// TestPage is the page of a test.
type TestPage struct {
	Period
	Name     string // as records have it
	Title    string // the same, safe to show
	Location string // file:line
	Suite    string

	Known   bool // it was in a run
	State   TestState
	Lead    TestLead
	Figures []Figure

	Places     []PlaceRow // if there are several
	MorePlaces int        // that are not listed
	Place      string     // the one of the rest of the page
	Dots       TestDots
	Failures   []TestSays
	Runs       []TestRunRow // newest first
	Quarantine string       // an object to apply; empty unless it fails
	Command    string
	Problem    string // a sentence: why runs are missing
}

// TestRunRow is a run of a test.
type TestRunRow struct {
	ID, Namespace string
	State         TestState
	Commit        string
	Branch        string
	Took          string
	Message       string
	SameMessage   bool // the run after it said the same
	Omitted       int  // newer ones that are not listed
	First         bool // of the row of failures
	At            *view.Time
}

// TestSays is what a test says when it fails.
type TestSays struct {
	Times   string
	Message string
	Text    string
	First   *view.Time
	Last    *view.Time
	Run     string // id of the last
	Space   string // its namespace
}

// PlaceRow is a place in which a test runs.
type PlaceRow struct {
	Name, Query string
	Current     bool
	State       TestState
	Strip       Strip
	Failed      string
	Median      string
	Since       *view.Time // it fails
}

const (
	maxPlaces   = 100 // rows of a page
	maxTestText = 4 << 10
)

// TestPageOf returns the page of a test. The period's Trigger and Environment choose the place that it shows; else the first is shown.
func TestPageOf(t httpapi.TestHistory, p Period, namespace string, now time.Time) TestPage {
	page := TestPage{Period: p, Name: t.Name, Title: testName(t.Name), Suite: testName(t.Suite), Location: testName(t.File),
		Known:   len(t.Places) > 0,
		Command: "postflight tests show " + plaintext.ShellQuote(testName(t.Name)), Problem: Line(t.Problem)}
	if t.Line > 0 && t.File != "" {
		page.Location += fmt.Sprintf(":%d", t.Line)
	}
	if !page.Known {
		return page
	}
	i := max(0, slices.IndexFunc(t.Places, func(place httpapi.TestInPlace) bool {
		return (p.Trigger == "" || place.Trigger == p.Trigger) && (p.Environment == "" || place.Environment == p.Environment)
	}))
	chosen := t.Places[i]
	page.State, page.Lead = stateOfTest(t.Places), testLeadOf(t, i, now)
	page.Figures = testFigures(t, chosen)
	page.addPlaces(t, i, now)
	page.Place = placeName(chosen.Place)
	page.Dots = testDotsOf(chosen, now)
	for _, f := range chosen.Failures {
		page.Failures = append(page.Failures, testSaysOf(f, chosen, now))
	}
	for _, r := range chosen.Last {
		row := testRunRowOf(r, now)
		row.First = chosen.Failing != nil && chosen.Failing.First.ID == r.ID
		row.SameMessage = len(page.Runs) > 0 && page.Runs[len(page.Runs)-1].Message == row.Message
		page.Runs = append(page.Runs, row)
	}
	if chosen.Failing != nil {
		page.Quarantine = quarantineOf(t.Name, chosen, namespace, now)
	}
	return page
}

// TestOfUnknown returns the page of a test that was in no run of the period.
func TestOfUnknown(name string, p Period, namespace string, now time.Time) TestPage {
	return TestPageOf(httpapi.TestHistory{Name: name, Days: p.Days}, p, namespace, now)
}

// recentRuns of a test are listed, and if it fails, where that began: a table has the others.
const recentRuns = 10

// Recent returns the last runs. Of a test that fails, the list ends with the first failure and the run before it.
func (page *TestPage) Recent() []TestRunRow {
	first := slices.IndexFunc(page.Runs, func(r TestRunRow) bool { return r.First })
	if first < recentRuns {
		return page.Runs[:min(len(page.Runs), recentRuns)]
	}
	rows := slices.Clone(page.Runs[:recentRuns-2])
	end := slices.Clone(page.Runs[first:min(first+2, len(page.Runs))])
	end[0].Omitted = first - len(rows)
	return append(rows, end...)
}

func stateOfTest(places []httpapi.TestInPlace) TestState {
	ran := false
	state := TestPassing
	for _, place := range places {
		if place.Failing != nil {
			return TestFailing
		}
		if place.Flips >= comesAndGoes {
			state = TestUnsure
		}
		ran = ran || place.Passed+place.Failed > 0
	}
	if !ran {
		return TestSkipped
	}
	return state
}

func (page *TestPage) addPlaces(t httpapi.TestHistory, chosen int, now time.Time) {
	if len(t.Places) < 2 {
		return
	}
	for i, place := range t.Places {
		if len(page.Places) == maxPlaces {
			page.MorePlaces = len(t.Places) - maxPlaces
			break
		}
		row := PlaceRow{Name: placeName(place.Place), Query: page.TestQuery(t.Name, place.Place), Current: i == chosen,
			State: stateOfTest([]httpapi.TestInPlace{place}),
			Strip: StripOf(outcomesOf(place.Last)), Failed: failedIn(place.Failed, place.Runs),
			Median: milliseconds(place.MedianMilliseconds)}
		if place.Failing != nil {
			row.Since = view.TimeOf(place.Failing.First.CreatedAt, now)
		}
		page.Places = append(page.Places, row)
	}
}

func testFigures(t httpapi.TestHistory, place httpapi.TestInPlace) []Figure {
	goes := Figure{Name: "Comes and goes", Value: "no", Note: plaintext.Count(place.Flips, "flip")}
	if place.Flips >= comesAndGoes {
		goes.Value = "yes"
	}
	retried := Figure{Name: "Passed when repeated", Value: fmt.Sprint(place.Flaky), Note: "of " + plaintext.Count(place.Runs, "run")}
	seen := Figure{Name: "Seen in", Value: fmt.Sprint(len(t.Places)), Note: "places"}
	if len(t.Places) == 1 {
		seen.Note = "place"
	}
	return []Figure{
		{Name: fmt.Sprintf("Failed, %d days", t.Days), Value: plaintext.Percent(place.Failed, place.Runs),
			Note: plaintext.Share(place.Failed, place.Runs, "run")},
		goes, retried,
		{Name: "Takes, median", Value: milliseconds(place.MedianMilliseconds)},
		seen,
	}
}

func testSaysOf(f httpapi.FailureText, place httpapi.TestInPlace, now time.Time) TestSays {
	text, _ := plaintext.Block(f.Text, maxTestText)
	message, _ := plaintext.Block(f.Message, maxTestText)
	return TestSays{Times: times(f.Times), Message: cmp.Or(message, "It says nothing."), Text: withoutStart(text, message),
		First: view.TimeOf(f.FirstAt, now), Last: view.TimeOf(f.LastAt, now), Run: f.LastRun, Space: place.Namespace}
}

func testRunRowOf(r httpapi.TestRun, now time.Time) TestRunRow {
	row := TestRunRow{ID: r.ID, Namespace: r.Namespace, State: runStateOf(r.State),
		Commit: plaintext.Line(commit.ShortSHA(r.SHA), logtext.MaxTestName),
		Branch: plaintext.Line(r.Branch, logtext.MaxTestName), Took: milliseconds(r.Milliseconds),
		Message: plaintext.Line(r.Message, maxTestText), At: view.TimeOf(r.CreatedAt, now)}
	if r.State == httpapi.TestSkipped {
		row.Took = ""
	}
	return row
}

func runStateOf(state string) TestState {
	switch state {
	case httpapi.TestPassed:
		return TestState{"Passed", "passed"}
	case httpapi.TestFlaky:
		return TestState{"Passed when repeated", "flaky"}
	case httpapi.TestFailed:
		return TestState{"Failed", "failed"}
	case httpapi.TestSkipped:
		return TestState{"Skipped", "skipped"}
	default: // of a later version
		return TestState{plaintext.Line(state, logtext.MaxTestName), "none"}
	}
}
