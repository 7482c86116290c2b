package history

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// Selection is which runs count. An empty Trigger or Environment selects all.
type Selection struct {
	Trigger, Environment string
}

// Has reports whether the runs of a place count.
func (s Selection) Has(p httpapi.Place) bool {
	return (s.Trigger == "" || s.Trigger == p.Trigger) && (s.Environment == "" || s.Environment == p.Environment)
}

// DayLayout is how a day is written.
const DayLayout = time.DateOnly

// Days returns the days up to one, the oldest first.
func Days(last time.Time, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = last.UTC().AddDate(0, 0, i-n+1).Format(DayLayout)
	}
	return all
}

// InsightsBuilder sums up days, and compares them with as many before. It keeps no run.
type InsightsBuilder struct {
	days, before     []string
	selection        Selection
	daily            map[string]httpapi.InsightsDay
	period, earlier  sums
	ends             endings
	places           map[httpapi.Place]bool
	reliability      Reliability
	slow, slowBefore slowness
	slowest          []httpapi.SlowTest // of the period, as soon as it is over
	cut              bool
}

// NewInsightsBuilder returns a builder for days and those before, the oldest first.
func NewInsightsBuilder(days, before []string, s Selection) *InsightsBuilder {
	return &InsightsBuilder{
		days: days, before: before, selection: s, daily: map[string]httpapi.InsightsDay{}, ends: newEndings(),
		places: map[httpapi.Place]bool{}, reliability: *NewReliability(s), slow: newSlowness(s), slowBefore: newSlowness(s),
	}
}

// Add takes a day, the newest first.
func (b *InsightsBuilder) Add(d *IndexedDay) {
	if d.Day.Day < b.days[0] {
		b.addEarlier(d)
		return
	}
	var day sums
	d.counted(b.selection, func(c counted) {
		day.add(c)
		b.period.add(c)
	})
	for i := range d.Runs {
		r := &d.Runs[i]
		if !b.selection.Has(r.Place) {
			continue
		}
		b.ends.add(r)
		if !b.places[r.Place] && len(b.places) == MaxPlaces {
			b.cut = true
			continue
		}
		b.places[r.Place] = true
	}
	b.daily[d.Day.Day] = day.day(d.Day.Day)
	b.reliability.Add(d)
	b.slow.add(d, nil)
}

func (b *InsightsBuilder) addEarlier(d *IndexedDay) {
	if b.slowest == nil {
		b.slowest = b.slow.tests()
	}
	d.counted(b.selection, b.earlier.add)
	b.slowBefore.add(d, b.slowest)
}

// Insights returns the sums. A day without runs is empty.
func (b *InsightsBuilder) Insights() httpapi.Insights {
	all := httpapi.Insights{Days: len(b.days), Period: b.period.figures(b.days), Daily: []httpapi.InsightsDay{}, Ends: b.ends.most()}
	for _, day := range b.days {
		sum, found := b.daily[day]
		if !found {
			sum.Day = day
		}
		all.Daily = append(all.Daily, sum)
	}
	if b.earlier.Runs > 0 {
		all.Before = new(b.earlier.figures(b.before))
	}
	all.Places = slices.AppendSeq(make([]httpapi.Place, 0, len(b.places)), maps.Keys(b.places))
	slices.SortFunc(all.Places, ComparePlaces)
	all.LeastReliable = b.reliability.Tests()
	all.LeastReliable = slices.Clone(all.LeastReliable[:min(len(all.LeastReliable), maxRanking)])
	if all.Slowest = b.slowest; all.Slowest == nil {
		all.Slowest = b.slow.tests()
	}
	b.slowBefore.compare(all.Slowest)
	return all
}

// Cut reports whether there were more tests, or places, than an answer holds.
func (b *InsightsBuilder) Cut() bool { return b.cut || b.reliability.Cut() || b.slow.table.cut }

// sums are the counts of runs. Times are in tenths of a second, as in a day.
type sums struct {
	httpapi.InsightsPeriod
	duration, verdict, queue spread
}

func (s *sums) add(c counted) {
	s.Runs++
	if end := state.Of(c.last.State); end.Figure != nil {
		*end.Figure(&s.InsightsPeriod)++
	} else {
		s.NoVerdict++
	}
	if state.Of(c.last.State).Green {
		s.Quarantined += int(min(c.last.Quarantined, 1))
		if !state.Of(c.first.State).Green {
			s.Repeated++
		}
	}
	if c.verdict != nil {
		s.verdict.add(*c.verdict * 10)
	}
	for _, r := range []*Run{c.first, c.last} {
		if !r.Partial && state.Of(r.State).TestsDecided {
			s.duration.add(r.DurationSeconds * 10)
			s.queue.add(r.QueueSeconds * 10)
			break
		}
	}
}

func (s *sums) figures(days []string) httpapi.InsightsPeriod {
	p := s.InsightsPeriod
	p.From, p.To = days[0], days[len(days)-1]
	if verdicts := p.Passed + p.Failed + p.TimedOut + p.Error; verdicts > 0 {
		p.PassRate = new(float64(p.Passed) / float64(verdicts))
	}
	p.Duration, p.Verdict, p.Queue = inSeconds(s.duration), inSeconds(s.verdict), inSeconds(s.queue)
	return p
}

func (s *sums) day(day string) httpapi.InsightsDay {
	return httpapi.InsightsDay{
		Day: day, Passed: s.Passed, Failed: s.Failed, TimedOut: s.TimedOut, Error: s.Error, NoVerdict: s.NoVerdict,
		Duration: inSeconds(s.duration),
	}
}

func inSeconds(tenths spread) httpapi.Quantiles {
	at := tenths.quantiles(50, 95)
	return httpapi.Quantiles{Count: tenths.n, Median: float64(at[0]) / 10, P95: float64(at[1]) / 10}
}

// endings counts runs by how they ended. Rare reasons of a state are one.
type endings struct {
	counts map[httpapi.InsightsEnd]int
	rest   map[string]int // by state
}

func newEndings() endings { return endings{map[httpapi.InsightsEnd]int{}, map[string]int{}} }

func (e *endings) add(r *Run) {
	end := httpapi.InsightsEnd{State: r.State, Reason: r.Reason}
	if e.counts[end] == 0 && len(e.counts) == maxEndings {
		e.rest[r.State]++
		return
	}
	e.counts[end]++
}

// most returns the most frequent endings, and the rest of each state as one.
func (e *endings) most() []httpapi.InsightsEnd {
	all := make([]httpapi.InsightsEnd, 0, len(e.counts))
	for end, n := range e.counts {
		end.Runs = n
		all = append(all, end)
	}
	byRuns := func(a, b httpapi.InsightsEnd) int {
		return cmp.Or(b.Runs-a.Runs, strings.Compare(a.State, b.State), strings.Compare(a.Reason, b.Reason))
	}
	slices.SortFunc(all, byRuns)
	if len(all) <= maxEnds {
		return all
	}
	rest := maps.Clone(e.rest)
	for _, end := range all[maxEnds:] {
		rest[end.State] += end.Runs
	}
	all = all[:maxEnds]
	for key, n := range rest {
		all = append(all, httpapi.InsightsEnd{State: key, Reason: "other reasons", Runs: n})
	}
	slices.SortFunc(all, byRuns)
	return all
}
