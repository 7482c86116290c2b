package insights

import (
	"fmt"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/text/plot"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// TestDots are the last runs of a test by its seconds, the oldest first.
type TestDots struct {
	Height  float64
	Dots    []TestDot
	Scale   []view.Tick // X is y, in pixels
	Mark    float64     // x of the first failure of a row, in percent; 0 without one
	MarkEnd bool        // its text fits only on the left
	Text    string      // beside the mark
	Oldest  *view.Time
	Newest  *view.Time
	Words   string // what the plot shows
}

// TestDot is a run.
type TestDot struct {
	ID, Namespace string
	Key, Title    string
	X, Y          float64 // in percent, and in pixels
}

const dotsHeight, dotsAbove, dotsBelow = 164.0, 28.0, 10.0 // in pixels: the text of the mark is above the dots

func testDotsOf(place httpapi.TestInPlace, now time.Time) TestDots {
	runs := slices.Clone(place.Last)
	slices.Reverse(runs)
	took := make([]float64, len(runs))
	for i, r := range runs {
		took[i] = float64(r.Milliseconds) / 1000
	}
	p := plot.DotsOf(dotsHeight, dotsAbove, dotsBelow, took)
	d := TestDots{Height: p.Height}
	for _, t := range p.Ticks {
		d.Scale = append(d.Scale, view.Tick{X: t.Y, Label: tickLabel(t.Value)})
	}
	for i, r := range runs {
		row := testRunRowOf(r, now)
		title := row.State.Label
		if row.Took != "" {
			title += " in " + row.Took
		}
		if row.Commit != "" {
			title += " with " + row.Commit
		}
		if row.At != nil {
			title += ", " + row.At.Exact
		}
		d.Dots = append(d.Dots, TestDot{ID: r.ID, Namespace: r.Namespace, Key: row.State.Key, Title: title, X: p.Dots[i].X, Y: p.Dots[i].Y})
		if place.Failing != nil && place.Failing.First.ID == r.ID && i > 0 {
			d.Mark, d.Text = p.Between(i), "first failed"
			if row.Commit != "" {
				d.Text = "first failed with " + row.Commit
			}
			d.MarkEnd = d.Mark > 50
		}
	}
	if len(runs) > 0 {
		d.Oldest, d.Newest = view.TimeOf(runs[0].CreatedAt, now), view.TimeOf(runs[len(runs)-1].CreatedAt, now)
	}
	d.Words = dotsWords(runs, place)
	return d
}

func dotsWords(runs []httpapi.TestRun, place httpapi.TestInPlace) string {
	failed := 0
	for _, r := range runs {
		if r.State == httpapi.TestFailed {
			failed++
		}
	}
	text := fmt.Sprintf("The last %s of the test in %s by how long it took, the oldest on the left: %d failed.",
		plaintext.Count(len(runs), "run"), placeName(place.Place), failed)
	if place.Failing != nil {
		text += fmt.Sprintf(" The last %s.", plaintext.Count(place.Failing.Runs, "run")+" failed")
	}
	return text
}
