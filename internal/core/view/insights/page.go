package insights

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// Page has figures of the runs of a period.
type Page struct {
	Period
	Triggers, Environments []string // that one can choose

	Any       bool // there were runs
	Lead      view.Lead
	Worst     *TestRow // the test of most failures
	Figures   []Figure
	Runs      DayBars
	Durations DayLine
	Ends      []EndRow

	LeastReliable []TestRow
	Slowest       []SlowRow
	Problem       string // a sentence: why days are missing
}

// Figure is a number with its change against the period before.
type Figure struct {
	Name, Value, Note string
	Change            *Change
}

// Change says in words how something changed. Key is the style class.
type Change struct{ Text, Key string }

// PageOf returns the page of a period.
func PageOf(insights httpapi.Insights, p Period, now time.Time) Page {
	page := Page{
		Period: p, Any: insights.Period.Runs > 0, Figures: figuresOf(insights),
		Runs: dayBarsOf(insights.Daily, insights.Period), Durations: dayLineOf(insights.Daily),
		Ends: endRowsOf(insights.Ends, p), LeastReliable: TestRowsOf(insights.LeastReliable, p, now), Slowest: slowRowsOf(insights.Slowest, p),
		Problem: Line(insights.Problem),
	}
	for _, place := range insights.Places {
		page.Triggers, page.Environments = append(page.Triggers, place.Trigger), append(page.Environments, place.Environment)
	}
	page.Triggers, page.Environments = choicesWith(page.Triggers, p.Trigger), choicesWith(page.Environments, p.Environment)
	page.Lead = leadOf(insights)
	if len(insights.LeastReliable) > 0 {
		if most := insights.LeastReliable[0]; most.Failed > 1 && 2*most.Failed > badRuns(insights.Period) {
			page.Worst = &page.LeastReliable[0]
		}
	}
	return page
}

// choicesWith adds the chosen name, which may have had no runs.
func choicesWith(names []string, chosen string) []string {
	if chosen != "" {
		names = append(names, chosen)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// badRuns had a verdict, and did not pass.
func badRuns(p httpapi.InsightsPeriod) int { return p.Failed + p.TimedOut + p.Error }

func verdicts(p httpapi.InsightsPeriod) int { return p.Passed + badRuns(p) }

func leadOf(insights httpapi.Insights) view.Lead {
	p, all := insights.Period, verdicts(insights.Period)
	switch {
	case p.Runs == 0:
		return view.Lead{Key: view.NoRun.Key, Text: fmt.Sprintf("No run ended in the last %d days.", insights.Days)}
	case all == 0:
		return view.Lead{Key: view.NoRun.Key, Text: fmt.Sprintf("%s ended in the last %d days, none of them with a verdict.",
			plaintext.Count(p.Runs, "run"), insights.Days)}
	}
	lead := view.Lead{Key: "passed", Text: fmt.Sprintf("All %d runs passed", p.Passed)}
	switch {
	case all == 1 && p.Passed == 1:
		lead.Text = "The only run passed"
	case p.Passed == 0:
		lead = view.Lead{Key: "failed", Text: fmt.Sprintf("None of %s passed", plaintext.Count(all, "run"))}
	case p.Passed < all:
		lead = view.Lead{Key: "failed", Text: fmt.Sprintf("%s of %d runs passed", plaintext.Percent(p.Passed, all), all)}
	}
	lead.Text += beforeSentence(insights) + "."
	if p.Repeated > 0 {
		lead.Text += fmt.Sprintf(" Of these, %d passed only when repeated.", p.Repeated)
	}
	if p.Quarantined > 0 {
		lead.Text += fmt.Sprintf(" Of these, %d passed although quarantined tests failed.", p.Quarantined)
	}
	return lead
}

func beforeSentence(insights httpapi.Insights) string {
	if insights.Before == nil || verdicts(*insights.Before) == 0 {
		return ""
	}
	points := passPoints(insights)
	rounded := math.Round(math.Abs(points))
	switch {
	case rounded < 1:
		return fmt.Sprintf(", about as many as in the %d days before", insights.Days)
	case points > 0:
		return fmt.Sprintf(", %s more than in the %d days before", plaintext.Count(int(rounded), "point"), insights.Days)
	default:
		return fmt.Sprintf(", %s less than in the %d days before", plaintext.Count(int(rounded), "point"), insights.Days)
	}
}

// passPoints is by how many percent points the rate changed.
func passPoints(insights httpapi.Insights) float64 {
	return 100 * (rate(insights.Period) - rate(*insights.Before))
}

func rate(p httpapi.InsightsPeriod) float64 {
	if all := verdicts(p); all > 0 {
		return float64(p.Passed) / float64(all)
	}
	return 0
}

func figuresOf(insights httpapi.Insights) []Figure {
	p, before := insights.Period, cmp.Or(insights.Before, &httpapi.InsightsPeriod{})
	passed := Figure{Name: "Passed", Value: "–"}
	if all := verdicts(p); all > 0 {
		passed.Value, passed.Note = plaintext.Percent(p.Passed, all), plaintext.Share(p.Passed, all, "run")
	}
	if verdicts(p) > 0 && verdicts(*before) > 0 {
		passed.Change = pointsChange(passPoints(insights))
	}
	verdict := duration("From deployment to verdict, p95", p.Verdict, before.Verdict, p95)
	if verdict.Note != "" {
		verdict.Note += ", with errors"
	}
	return []Figure{
		passed,
		duration("Tests take, median", p.Duration, before.Duration, median),
		verdict,
		duration("Wait in the queue, p95", p.Queue, before.Queue, p95),
	}
}

func median(q httpapi.Quantiles) float64 { return q.Median }
func p95(q httpapi.Quantiles) float64    { return q.P95 }

func pointsChange(points float64) *Change {
	switch {
	case points >= .05:
		return &Change{fmt.Sprintf("%.1f points more", points), "better"}
	case points <= -.05:
		return &Change{fmt.Sprintf("%.1f points less", -points), "worse"}
	default:
		return &Change{"as before", "same"}
	}
}

func duration(name string, now, before httpapi.Quantiles, quantile func(httpapi.Quantiles) float64) Figure {
	if now.Count == 0 {
		return Figure{Name: name, Value: "–"}
	}
	f := Figure{Name: name, Value: seconds(quantile(now)), Note: "of " + plaintext.Count(now.Count, "run")}
	if before.Count == 0 {
		return f
	}
	d := min(quantile(now), maxMilliseconds/1000) - min(quantile(before), maxMilliseconds/1000)
	switch {
	case math.Abs(d) < 1 || math.Abs(d) < .01*quantile(before) || math.IsNaN(d):
		f.Change = &Change{"as before", "same"}
	case d > 0:
		f.Change = &Change{view.Duration(time.Duration(d*float64(time.Second))) + " longer", "worse"}
	default:
		f.Change = &Change{view.Duration(time.Duration(-d*float64(time.Second))) + " shorter", "better"}
	}
	return f
}
