package plot

import (
	"math"
	"slices"
)

// Tick is a value of an axis.
type Tick struct {
	Value float64
	Y     float64
}

// maxValue is more than any count or duration of a real plot. Greater values would lose their digits, and are drawn like it.
const maxValue = 1e12

// ticksWanted is about how many ticks an axis has above 0.
const ticksWanted = 3

// known returns a value that can be drawn.
func known(v float64) float64 {
	if math.IsNaN(v) || v < 0 {
		return 0
	}
	return min(v, maxValue)
}

// counts returns whole values for an axis: 0 and a few steps of 1, 2 or 5 times a power of ten, up to most, but at least one.
func counts(most float64) []float64 {
	step := 1.0
	for rest := math.Max(known(most), 1) / ticksWanted; step < rest; {
		switch {
		case 2*step >= rest:
			step *= 2
		case 5*step >= rest:
			step *= 5
		default:
			step *= 10
		}
	}
	return steps(step, known(most))
}

// durationSteps are those that people read a clock by, in seconds.
var durationSteps = []float64{.1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 6 * 3600, 12 * 3600}

// seconds is counts for durations: steps of .1 s, 5 s, 1 min and the like.
func seconds(most float64) []float64 {
	rest := known(most) / ticksWanted
	i := slices.IndexFunc(durationSteps, func(step float64) bool { return step >= rest })
	if i >= 0 {
		return steps(durationSteps[i], known(most))
	}
	const day = 86400
	days := counts(most / day)
	for i := range days {
		days[i] *= day
	}
	return days
}

func steps(step, most float64) []float64 {
	const rounding = 1e-9
	n := int(most/step + rounding)
	all := make([]float64, 0, n+1)
	for i := range max(n, 1) + 1 {
		all = append(all, float64(i)*step)
	}
	return all
}
