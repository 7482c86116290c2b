package history

import (
	"maps"
	"math"
	"slices"
)

// spread counts values, so that quantiles of a million need little memory. If there are more than maxSpread different ones, they are
// rounded down to a multiple of a step.
type spread struct {
	counts map[uint32]uint32 // by value divided by the step
	step   uint32
	n      int
}

func (s *spread) add(value float64) { s.addWithin(value, maxSpread) }

// addWithin is add with another bound of different values.
func (s *spread) addWithin(value float64, most int) {
	if s.counts == nil {
		s.counts, s.step = map[uint32]uint32{}, 1
	}
	s.counts[uint32(min(max(math.Round(value), 0), math.MaxUint32))/s.step]++
	s.n++
	for len(s.counts) > most {
		coarse := map[uint32]uint32{}
		for value, n := range s.counts {
			coarse[value/2] += n
		}
		s.counts, s.step = coarse, 2*s.step
	}
}

// quantiles are values that occurred: the smallest that at least so many percent do not exceed.
func (s *spread) quantiles(percents ...int) []int64 {
	all := make([]int64, len(percents))
	seen, next := 0, 0
	for _, value := range slices.Sorted(maps.Keys(s.counts)) {
		seen += int(s.counts[value])
		for ; next < len(percents) && seen >= (s.n*percents[next]+99)/100; next++ {
			all[next] = int64(value) * int64(s.step)
		}
	}
	return all
}
