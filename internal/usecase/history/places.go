package history

import (
	"slices"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/history"
)

// place is a Trigger and an Environment with the days on which it has tests, the newest first.
type place struct {
	httpapi.Place
	days []placeDay
}

type placeDay struct {
	day  *history.Day
	in   *history.PlaceDay
	runs map[string]history.Run
}

func (k *known) places(days []string, s history.Selection) []place {
	byPlace := map[httpapi.Place]*place{}
	for _, name := range slices.Backward(days) {
		d := k.days[name]
		if d == nil {
			continue
		}
		runs := d.RunsByID()
		for i := range d.Places {
			in := &d.Places[i]
			if !s.Has(in.Place) {
				continue
			}
			if byPlace[in.Place] == nil {
				byPlace[in.Place] = &place{Place: in.Place}
			}
			p := byPlace[in.Place]
			p.days = append(p.days, placeDay{d, in, runs})
		}
	}
	all := make([]place, 0, len(byPlace))
	for _, p := range byPlace {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b place) int { return history.ComparePlaces(a.Place, b.Place) })
	return all
}

// lastWhole returns the last day on which the place ran all tests, or else the last day.
func (p place) lastWhole() placeDay {
	for _, d := range p.days {
		if d.day.HasWhole(d.in) {
			return d
		}
	}
	return p.days[0]
}
