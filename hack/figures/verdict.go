package main

import "slices"

// verdict about a key of a figure.
type verdict string

const (
	same    verdict = "same"    // a loss that matters would have shown
	better  verdict = "better"  // by more than the spread
	worse   verdict = "worse"   // by more than the spread
	unclear verdict = "unclear" // the runs differ too much, or there are too few
	added   verdict = "new"     // the base does not print it
	gone    verdict = "gone"    // only the base prints it
)

const (
	leastRounds = 2 // four runs of each commit: the least with a spread
	mostRounds  = 5 // ten runs; more would show losses that users do not notice, and take hours

	// spreadDoubt is the usual one. It may call a loss of `bearable` the same in one of 40 comparisons.
	spreadDoubt = 1. / 40
	// lossDoubt is less, because a night compares a hundred keys, and what fails without a reason is soon ignored: with eight runs of
	// each commit, each run of the new one must be worse than each of the base; with ten, four of 100 pairs may be the other way
	// round. TestAlarms counts what this finds, and how often it fails for nothing.
	lossDoubt = 1. / 12000

	leastChange = 1.05 // less is no reason to fail, even where each run prints the same, as with sizes
	bearable    = 1.15 // what "same" excludes
)

// judge returns how much more of what costs a new commit takes, with its spread, and what follows.
func judge(base, now []float64, m meaning) (spread, verdict) {
	base, now = steady(base, now)
	if m == more {
		base, now = now, base
	}
	cost := spreadOf(now, base, spreadDoubt)
	v := unclear
	switch {
	case cost.ratio >= leastChange && spreadOf(now, base, lossDoubt).low > 1:
		v = worse
	case cost.ratio >= leastChange && cost.low > 1: // it needs more runs to be sure of
	case cost.ratio <= 1/leastChange && cost.high < 1:
		v = better
	case cost.high < bearable:
		v = same
	}
	if m == more {
		cost = cost.inverse()
	}
	return cost, v
}

// suspicious reports whether further runs may show that a key is worse. A comparison that has little time begins with these.
func suspicious(all []comparison) bool {
	return slices.ContainsFunc(all, func(c comparison) bool {
		cost := c.spread
		if c.meaning == more {
			cost = cost.inverse()
		}
		return c.verdict == unclear && cost.ratio >= leastChange
	})
}

// steady divides the runs of each round by their median, so that a machine that is slower in one round than in the next does not
// count as noise.
func steady(base, now []float64) (_, _ []float64) {
	if len(base) != len(now) || len(base)%2 != 0 || slices.Min(base) <= 0 || slices.Min(now) <= 0 {
		return base, now
	}
	base, now = slices.Clone(base), slices.Clone(now)
	for i := 0; i < len(base); i += 2 {
		level := medianOf(slices.Concat(base[i:i+2], now[i:i+2]))
		for _, side := range [][]float64{base[i : i+2], now[i : i+2]} {
			side[0] /= level
			side[1] /= level
		}
	}
	return base, now
}
