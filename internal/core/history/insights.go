package history

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
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

// InsightsOf sums up days, and compares them with as many before. Both are by day; a day without runs is missing.
func InsightsOf(days, before []string, known map[string]*Day, s Selection) httpapi.Insights {
	all := httpapi.Insights{
		Days: len(days), Daily: []httpapi.InsightsDay{}, Ends: []httpapi.InsightsEnd{}, Places: []httpapi.Place{},
		LeastReliable: []httpapi.TestStats{}, Slowest: []httpapi.SlowTest{},
	}
	var period []Run
	for _, day := range days {
		runs := selected(known[day], s)
		period = append(period, runs...)
		sum := sumUp([]string{day}, runs)
		all.Daily = append(all.Daily, httpapi.InsightsDay{
			Day: day, Passed: sum.Passed, Failed: sum.Failed, TimedOut: sum.TimedOut, Error: sum.Error, NoVerdict: sum.NoVerdict, Duration: sum.Duration,
		})
	}
	all.Period = sumUp(days, period)
	var earlier []Run
	for _, day := range before {
		earlier = append(earlier, selected(known[day], s)...)
	}
	if len(earlier) > 0 {
		sum := sumUp(before, earlier)
		all.Before = &sum
	}
	all.Ends, all.Places = ends(period), placesOf(period)
	all.LeastReliable = leastReliable(days, known, s, maxRanking)
	all.Slowest = slowestOf(days, before, known, s)
	return all
}

func selected(d *Day, s Selection) (runs []Run) {
	if d == nil {
		return nil
	}
	for _, r := range d.Runs {
		if s.Has(r.Place) {
			runs = append(runs, r)
		}
	}
	return runs
}

func sumUp(days []string, runs []Run) httpapi.InsightsPeriod {
	p := httpapi.InsightsPeriod{From: days[0], To: days[len(days)-1], Runs: len(runs)}
	var duration, verdict, queue []float64
	for _, r := range runs {
		switch r.State {
		case v1alpha1.ReasonPassed:
			p.Passed++
			p.Quarantined += int(min(r.Quarantined, 1))
		case v1alpha1.ReasonFailed:
			p.Failed++
		case v1alpha1.ReasonTimedOut:
			p.TimedOut++
		case v1alpha1.ReasonError:
			p.Error++
		default:
			p.NoVerdict++
		}
		if !r.Partial && (r.State == v1alpha1.ReasonPassed || r.State == v1alpha1.ReasonFailed) {
			duration, verdict, queue = append(duration, r.DurationSeconds), append(verdict, r.VerdictSeconds), append(queue, r.QueueSeconds)
		}
	}
	if verdicts := p.Passed + p.Failed + p.TimedOut + p.Error; verdicts > 0 {
		p.PassRate = new(float64(p.Passed) / float64(verdicts))
	}
	p.Duration, p.Verdict, p.Queue = quantiles(duration), quantiles(verdict), quantiles(queue)
	return p
}

// quantiles are values that occurred: the smallest that at least half, or 95%, do not exceed.
func quantiles(all []float64) httpapi.Quantiles {
	if len(all) == 0 {
		return httpapi.Quantiles{}
	}
	slices.Sort(all)
	at := func(percent int) float64 { return all[(len(all)*percent+99)/100-1] }
	return httpapi.Quantiles{Count: len(all), Median: at(50), P95: at(95)}
}

// ends counts runs by how they ended. Rare reasons of a state are one.
func ends(runs []Run) []httpapi.InsightsEnd {
	counts := map[httpapi.InsightsEnd]int{}
	for _, r := range runs {
		counts[httpapi.InsightsEnd{State: r.State, Reason: r.Reason}]++
	}
	all := make([]httpapi.InsightsEnd, 0, len(counts))
	for end, n := range counts {
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
	rest := map[string]int{}
	for _, end := range all[maxEnds:] {
		rest[end.State] += end.Runs
	}
	all = all[:maxEnds]
	for state, n := range rest {
		all = append(all, httpapi.InsightsEnd{State: state, Reason: "other reasons", Runs: n})
	}
	slices.SortFunc(all, byRuns)
	return all
}

func placesOf(runs []Run) []httpapi.Place {
	seen := map[httpapi.Place]bool{}
	all := []httpapi.Place{}
	for _, r := range runs {
		if !seen[r.Place] {
			seen[r.Place] = true
			all = append(all, r.Place)
		}
	}
	slices.SortFunc(all, ComparePlaces)
	return all
}
