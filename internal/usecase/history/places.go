package history

import (
	"context"
	"slices"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

// place is a Trigger and an Environment with the days on which it has tests, the newest first.
type place struct {
	httpapi.Place
	days []placeDay
}

// placeDay is small, because 2,000 places have 90 of them.
type placeDay struct {
	day  int16 // index among those that are read, the newest first
	runs int32 // that count
}

// places are known after their days were added, the newest first.
type places map[httpapi.Place]*place

// add reports whether there is room for all of the day.
func (all places) add(day int, d *history.IndexedDay) (fits bool) {
	fits = true
	for i := range d.Places {
		pd := &d.Places[i]
		p := all[pd.Place]
		if p == nil && len(all) == history.MaxPlaces {
			fits = false
			continue
		}
		if p == nil {
			p = &place{Place: pd.Place}
			all[pd.Place] = p
		}
		p.days = append(p.days, placeDay{int16(day), int32(d.CountedRuns(pd))})
	}
	return fits
}

// sorted returns them by name.
func (all places) sorted() []*place {
	sorted := make([]*place, 0, len(all))
	for _, p := range all {
		sorted = append(sorted, p)
	}
	slices.SortFunc(sorted, func(a, b *place) int { return history.ComparePlaces(a.Place, b.Place) })
	return sorted
}

// lastWhole returns the places by the last day that has a run of all their tests.
func (all places) lastWhole(days []string) map[string]map[httpapi.Place]bool {
	last := map[string]map[httpapi.Place]bool{}
	for _, p := range all {
		day := days[p.lastWhole()]
		if last[day] == nil {
			last[day] = map[httpapi.Place]bool{}
		}
		last[day][p.Place] = true
	}
	return last
}

// lastWhole returns the last day on which the place ran all tests, or else the last day.
func (p *place) lastWhole() int {
	for _, d := range p.days {
		if d.runs > 0 {
			return int(d.day)
		}
	}
	return int(p.days[0].day)
}

func (p *place) runs() (n int) {
	for _, d := range p.days {
		n += int(d.runs)
	}
	return n
}

// newest returns the last days with enough runs, two at a time, and whether these are all.
func (p *place) newest(enough int) (days []int, all bool) {
	runs := 0
	for page := range slices.Chunk(p.days, 2) {
		for _, d := range page {
			days = append(days, int(d.day))
			runs += int(d.runs)
		}
		if runs >= enough {
			break
		}
	}
	return days, len(days) == len(p.days)
}

// details adds the last outcomes to the figures of tests. It reads days again, because an answer keeps none: mostly one or two.
func (a *answer) details(ctx context.Context, days []string, known places, stats []httpapi.TestStats) error {
	all := make([]bool, len(stats))
	wanted := map[string][]int{} // indexes of stats, by day
	wantedPlaces := map[httpapi.Place]bool{}
	for i := range stats {
		p := known[stats[i].Place]
		if p == nil {
			continue
		}
		wantedPlaces[p.Place] = true
		var last []int
		last, all[i] = p.newest(history.StripRuns)
		for _, day := range last {
			wanted[days[day]] = append(wanted[days[day]], i)
		}
	}
	found := make([]history.LastOutcomes, len(stats))
	parts := history.Parts{Blocks: true, Has: func(r history.Run) bool { return wantedPlaces[r.Place] && a.has(r) }}
	err := a.each(ctx, only(days, wanted), parts, func(ctx context.Context, d *history.IndexedDay) (func(), error) {
		seen := make([]*history.SeenDay, len(stats))
		wantedHere := wanted[d.Day.Day]
		err := atOnce(ctx, len(wantedHere), func(ctx context.Context, n int) (err error) {
			i := wantedHere[n]
			if pd := d.Place(stats[i].Place); pd != nil {
				seen[i], err = a.see(ctx, d, pd, stats[i].Name)
			}
			return err
		})
		return func() {
			for i, s := range seen {
				if s != nil {
					found[i].Add(*s)
				}
			}
		}, err
	})
	for i := range stats {
		if known[stats[i].Place] != nil {
			found[i].Describe(&stats[i], all[i])
		}
	}
	return err
}

// only returns the days that are wanted, in their order.
func only[T any](days []string, wanted map[string]T) (some []string) {
	for _, day := range days {
		if _, found := wanted[day]; found {
			some = append(some, day)
		}
	}
	return some
}
