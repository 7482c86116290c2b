package environment

import (
	"cmp"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// Day is a day of an Environment, in UTC, as lanes and as a table.
type Day struct {
	Name           string // Today, or its date
	Previous, Next *DayLink
	Today          bool
	Deployments    []Lane // by repository
	Tests          []Lane // by Trigger
	Ticks          []view.Tick
	Events         []Event // what the lanes show, oldest first
	Omitted        int     // older runs of the day, which are too many
}

// DayLink is another day, before today.
type DayLink struct{ Date, Name string }

// Event is a row of the table of a day.
type Event struct {
	What     string    // the Trigger or the repository, which may be empty
	Run      *view.Row // nil: a deployment
	Commit   string    // short
	Branch   string
	From, To *view.Time // To is nil: until now
}

const day = 24 * time.Hour

// maxDayRuns bounds the runs that a page of a day shows: some 100 KiB.
const maxDayRuns = 200

const dateFormat = "2006-01-02"

// ParseDay returns the beginning of a day in UTC, which is today unless the text names an earlier one.
func ParseDay(text string, now time.Time) time.Time {
	today := view.Midnight(now)
	if t, err := time.Parse(dateFormat, text); err == nil && t.Before(today) {
		return t
	}
	return today
}

// stretch is a time of a run or a deployment.
type stretch struct{ from, to time.Time }

// testing returns when the tests of a run ran; for a run that never started, when it waited.
func testing(s *v1alpha1.Suite, now time.Time) stretch {
	t := stretch{from: s.Received().Time, to: now}
	if s.Status.StartTime != nil {
		t.from = s.Status.StartTime.Time
	}
	if s.Status.CompletionTime != nil {
		t.to = s.Status.CompletionTime.Time
	}
	t.to = later(t.to, t.from)
	return t
}

// DayOf returns a day of an Environment, whose runs and archived deployments come newest first.
func DayOf(e *v1alpha1.Environment, runs []*v1alpha1.Suite, archived []httpapi.Deployment, begin, now time.Time) Day {
	deployments := deploymentsOf(e, runs, archived)
	d := Day{Name: begin.Format("Monday, 2 January 2006"), Today: begin.Equal(view.Midnight(now))}
	if d.Today {
		d.Name = "Today"
	}
	span := stretch{begin, begin.Add(day)}
	d.setNeighbours(deployments, runs, begin, now)
	var tests []*v1alpha1.Suite
	for _, s := range runs {
		if t := testing(s, now); t.overlaps(span) {
			tests = append(tests, s)
		}
	}
	d.Omitted = max(0, len(tests)-maxDayRuns)
	tests = tests[:min(len(tests), maxDayRuns)]
	shown := window(span, deployments, tests, now)
	deployments = slices.DeleteFunc(deployments, func(p deployment) bool { return !p.during(now).overlaps(shown) })
	d.Deployments, d.Tests = deploymentLanes(deployments, shown, now), testLanes(tests, shown, now)
	d.Ticks, d.Events = ticks(shown), events(deployments, tests, now)
	return d
}

// overlaps reports whether a stretch has more in common with another than its end.
func (s stretch) overlaps(o stretch) bool {
	return s.from.Before(o.to) && s.to.After(o.from) || s.from.Equal(o.from)
}

func (p deployment) during(now time.Time) stretch {
	if p.to.IsZero() {
		return stretch{p.from, later(now, p.from.Add(time.Second))}
	}
	return stretch{p.from, p.to}
}

// setNeighbours finds the nearest days on which something began.
func (d *Day) setNeighbours(deployments []deployment, runs []*v1alpha1.Suite, begin, now time.Time) {
	var previous, next time.Time
	see := func(at time.Time) {
		switch at = view.Midnight(at); {
		case at.Before(begin):
			previous = later(previous, at)
		case at.After(begin) && (next.IsZero() || at.Before(next)):
			next = at
		}
	}
	for _, p := range deployments {
		see(p.from)
	}
	for _, s := range runs {
		see(testing(s, now).from)
	}
	d.Previous = dayLink(previous)
	if next.Before(view.Midnight(now)) {
		d.Next = dayLink(next)
	}
}

func dayLink(at time.Time) *DayLink {
	if at.IsZero() {
		return nil
	}
	return &DayLink{at.Format(dateFormat), at.Format("2 January")}
}

// window returns the part of a day in which something happens, in whole hours, and until now.
func window(span stretch, deployments []deployment, tests []*v1alpha1.Suite, now time.Time) stretch {
	first, last := span.to, span.from
	see := func(at time.Time) {
		if !at.Before(span.from) && at.Before(span.to) {
			first = earlier(first, at)
			last = later(last, at)
		}
	}
	for _, p := range deployments {
		see(p.from)
	}
	for _, s := range tests {
		t := testing(s, now)
		see(later(t.from, span.from))
		see(earlier(t.to, span.to.Add(-time.Second)))
	}
	end := earlier(span.to, now.Truncate(time.Minute).Add(time.Minute)) // the page of today changes once a minute
	if last.Before(first) {
		return stretch{span.from, end}
	}
	if !now.Before(span.to) {
		end = earlier(span.to, last.Truncate(time.Hour).Add(time.Hour))
	}
	return stretch{later(span.from, earlier(first.Truncate(time.Hour), end.Add(-time.Hour))), end}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func events(deployments []deployment, tests []*v1alpha1.Suite, now time.Time) []Event {
	all := make([]Event, 0, len(deployments)+len(tests))
	for _, p := range deployments {
		all = append(all, Event{What: p.String(), Commit: commit.ShortSHA(p.sha), Branch: p.branch, From: view.TimeOf(p.from, now),
			To: view.TimeOf(p.to, now)})
	}
	for _, s := range tests {
		row, t := view.RowOf(s, 0, now), testing(s, now)
		e := Event{What: row.Name(), Run: &row, Commit: row.SHA, Branch: row.Branch, From: view.TimeOf(t.from, now)}
		if s.Finished() {
			e.To = view.TimeOf(t.to, now)
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Or(a.From.At.Compare(b.From.At), cmp.Compare(a.What, b.What)) })
	return all
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
