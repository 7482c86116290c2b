package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// series are the values of a key by commit.
type series struct{ base, now []float64 }

// comparison is what is known about a key after some rounds.
type comparison struct {
	id
	meaning   meaning
	base, now float64 // medians
	spread    spread
	verdict   verdict
}

// add takes the readings of one run. What is printed several times counts once, by its median.
func add(all map[id]series, readings []reading, isBase bool) {
	values := map[id][]float64{}
	for _, r := range readings {
		values[r.id] = append(values[r.id], r.value)
	}
	for id, repeated := range values {
		s, value := all[id], medianOf(repeated)
		if isBase {
			s.base = append(s.base, value)
		} else {
			s.now = append(s.now, value)
		}
		all[id] = s
	}
}

// compare judges each key that any run printed.
func compare(all map[id]series) (list []comparison) {
	for id, s := range all {
		c := comparison{id: id, meaning: meaningOf(id.figure, id.key)}
		if len(s.base) > 0 {
			c.base = medianOf(s.base)
		}
		if len(s.now) > 0 {
			c.now = medianOf(s.now)
		}
		switch {
		case len(s.base) == 0:
			c.verdict = added
		case len(s.now) == 0:
			c.verdict = gone
		default:
			c.spread, c.verdict = judge(s.base, s.now, c.meaning)
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b comparison) int {
		return cmp.Or(strings.Compare(a.figure, b.figure), strings.Compare(a.setting, b.setting), strings.Compare(a.key, b.key))
	})
	return list
}

// String is the line that is printed.
func (c comparison) String() string {
	line := fmt.Sprintf("COMPARE figure=%s key=%s", c.figure, c.key)
	if c.setting != "" {
		line += fmt.Sprintf(" setting=%q", c.setting)
	}
	switch c.verdict {
	case added:
		line += fmt.Sprintf(" new=%s", short(c.now))
	case gone:
		line += fmt.Sprintf(" base=%s", short(c.base))
	default:
		line += fmt.Sprintf(" base=%s new=%s ratio=%.3f low=%.3f high=%.3f",
			short(c.base), short(c.now), c.spread.ratio, c.spread.low, c.spread.high)
	}
	return line + fmt.Sprintf(" verdict=%s", c.verdict)
}

// undecided reports whether further runs may change what is known.
func undecided(list []comparison) bool {
	return slices.ContainsFunc(list, func(c comparison) bool { return c.verdict == unclear })
}

// forgetBase removes what a base has printed whose benchmark fails.
func forgetBase(all map[id]series) {
	for id, s := range all {
		all[id] = series{now: s.now}
	}
}

// forgetProcess removes the CPU time of the whole process.
func forgetProcess(all map[id]series) {
	maps.DeleteFunc(all, func(id id, _ series) bool { return id.figure == "PROCESS" })
}
