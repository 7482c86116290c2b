package insights

import (
	"fmt"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/text/plot"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// DayBars are the runs of each day: those that passed above the axis, others below.
type DayBars struct {
	plot.Bars
	Days      []DayBar
	Labels    []view.Tick
	Words     string // what the plot shows
	Legend    []LegendEntry
	NoVerdict int // runs that are not drawn
}

// DayBar is a day of a plot.
type DayBar struct {
	Title    string
	X        float64 // of its place, in percent
	Segments []BarSegment

	Day                                        string
	Passed, Failed, TimedOut, Error, NoVerdict int
	Median, P95                                string
}

// BarSegment is a part of a day's bar, with the key of its state.
type BarSegment struct {
	plot.Segment
	Key string
}

// LegendEntry explains a colour.
type LegendEntry struct{ Key, Label string }

// DayLine is how long runs of each day took.
type DayLine struct {
	plot.Line
	Days   []DayBar
	Labels []view.Tick
	Scale  []view.Tick // of durations; X is unused
	Words  string
}

const barsHeight, lineHeight = 168.0, 196.0

var badKeys = []LegendEntry{{"failed", "failed"}, {"timedout", "timed out"}, {"error", "could not run"}}

func dayBarsOf(days []httpapi.InsightsDay, p httpapi.InsightsPeriod) DayBars {
	stacks := make([]plot.Stack, 0, len(days))
	for _, d := range days {
		stacks = append(stacks, plot.Stack{Up: []int{d.Passed}, Down: []int{d.Failed, d.TimedOut, d.Error}})
	}
	b := DayBars{Bars: plot.BarsOf(barsHeight, stacks), Labels: dayLabels(days), Legend: []LegendEntry{{"passed", "passed"}},
		NoVerdict: p.NoVerdict}
	for i, segments := range b.Bars.Bars {
		bar := dayBarOf(days[i])
		bar.X = float64(i) * b.Slot
		for _, s := range segments {
			key := "passed"
			if s.Below {
				key = badKeys[s.Part].Key
			}
			bar.Segments = append(bar.Segments, BarSegment{s, key})
		}
		b.Days = append(b.Days, bar)
	}
	for i, n := range []int{p.Failed, p.TimedOut, p.Error} {
		if n > 0 {
			b.Legend = append(b.Legend, badKeys[i])
		}
	}
	b.Words = barsWords(days, p)
	return b
}

func barsWords(days []httpapi.InsightsDay, p httpapi.InsightsPeriod) string {
	most, n := "", 0
	for _, d := range days {
		if all := d.Passed + d.Failed + d.TimedOut + d.Error; all > n {
			most, n = dayName(d.Day), all
		}
	}
	text := fmt.Sprintf("Runs a day over %s: %s.", plaintext.Count(len(days), "day"),
		countsOf(p.Passed, p.Failed, p.TimedOut, p.Error, p.NoVerdict))
	if n > 0 {
		text += fmt.Sprintf(" Most were on %s: %d.", most, n)
	}
	return text
}

// countsOf writes the counts that are not 0.
func countsOf(passed, failed, timedOut, errors, noVerdict int) string {
	var parts []string
	for _, part := range []struct {
		n     int
		words string
	}{{passed, "passed"}, {failed, "failed"}, {timedOut, "timed out"}, {errors, "could not run"}, {noVerdict, "without a verdict"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.words))
		}
	}
	if parts == nil {
		return "no run"
	}
	return strings.Join(parts, ", ")
}

func dayBarOf(d httpapi.InsightsDay) DayBar {
	bar := DayBar{Day: dayName(d.Day), Passed: d.Passed, Failed: d.Failed, TimedOut: d.TimedOut, Error: d.Error, NoVerdict: d.NoVerdict,
		Median: "–", P95: "–"}
	bar.Title = bar.Day + ": " + countsOf(d.Passed, d.Failed, d.TimedOut, d.Error, d.NoVerdict)
	if d.Duration.Count > 0 {
		bar.Median, bar.P95 = seconds(d.Duration.Median), seconds(d.Duration.P95)
		bar.Title += "; median " + bar.Median
	}
	return bar
}

func dayLineOf(days []httpapi.InsightsDay) DayLine {
	values, last := make([]plot.Value, 0, len(days)), ""
	l := DayLine{Labels: dayLabels(days)}
	for _, d := range days {
		values = append(values, plot.Value{Low: d.Duration.Median, High: d.Duration.P95, Known: d.Duration.Count > 0})
		bar := dayBarOf(d)
		if d.Duration.Count > 0 {
			last = fmt.Sprintf(" On %s, half of them took at most %s, and 95%% at most %s.", bar.Day, bar.Median, bar.P95)
		}
		l.Days = append(l.Days, bar)
	}
	l.Line = plot.LineOf(lineHeight, values)
	for _, t := range l.Ticks {
		l.Scale = append(l.Scale, view.Tick{X: t.Y, Label: tickLabel(t.Value)})
	}
	l.Words = "How long runs took over " + plaintext.Count(len(days), "day") + "." + last
	return l
}

// tickLabel writes durations of an axis without parts that are 0: 4m and not 4m 00s.
func tickLabel(s float64) string {
	d := time.Duration(min(s, maxMilliseconds/1000) * float64(time.Second))
	switch {
	case s == 0:
		return "0"
	case s < 1:
		return fmt.Sprintf("%.0fms", 1000*s)
	case d >= day:
		return fmt.Sprintf("%.0fd", s/day.Seconds())
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d < time.Hour && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	default:
		return view.Duration(d)
	}
}

func dayName(text string) string {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return plaintext.Line(text, len(time.DateOnly))
	}
	return at.Format("Mon 2 Jan")
}

// maxDayLabels fit below a plot on a phone.
const maxDayLabels = 5

// dayLabels names Mondays, or each day of a week.
func dayLabels(days []httpapi.InsightsDay) (labels []view.Tick) {
	const margin = 4 // percent
	weeks := (len(days) + 6) / 7
	every, n := max(1, (weeks+maxDayLabels-1)/maxDayLabels), 0
	for i, d := range days {
		at, err := time.Parse(time.DateOnly, d.Day)
		if err != nil {
			continue
		}
		x := 100 * (float64(i) + .5) / float64(len(days))
		if len(days) <= 7 {
			labels = append(labels, view.Tick{X: x, Label: at.Format("Mon")})
			continue
		}
		if at.Weekday() != time.Monday {
			continue
		}
		if n++; (n-1)%every == 0 && x >= margin && x <= 100-margin {
			labels = append(labels, view.Tick{X: x, Label: at.Format("2 Jan")})
		}
	}
	return labels
}
