package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// contest is a row whose benchmarks run in turns.
type contest struct {
	row       row
	base, now *program // no base: it has none, or it does not build
	unfair    bool     // the benchmark itself has changed
	values    map[id]series
	rounds    int
	took      time.Duration // the last round
	list      []comparison
	failed    error // of the new commit
}

// round runs both programs twice. The order cancels out what a machine gains or loses steadily.
func (c *contest) round(ctx context.Context, log io.Writer) error {
	began := time.Now()
	for _, isBase := range []bool{true, false, false, true} {
		p := c.now
		if isBase {
			p = c.base
		}
		if p == nil {
			continue
		}
		result, err := p.run(ctx, io.Discard) // an error has the end of it
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !isBase:
			c.failed = err
			return nil
		case err != nil:
			fmt.Fprintln(log, "figures:", err)
			c.base = nil
			forgetBase(c.values)
			continue
		}
		add(c.values, result.readings, isBase)
	}
	c.took = time.Since(began)
	c.rounds++
	if c.unfair {
		forgetProcess(c.values)
	}
	c.list = compare(c.values)
	return nil
}

// expected is how long the next round takes.
func (c *contest) expected() time.Duration {
	if c.rounds > 0 {
		return c.took
	}
	return 4 * c.row.expected
}

// next are the contests that need a further round, those that may have lost something first. A thorough comparison wants a
// verdict for each key, another only looks for losses.
func next(all []*contest, thorough bool) (list []*contest) {
	for _, c := range all {
		switch {
		case c.failed != nil, c.base == nil && c.rounds > 0:
		case c.rounds < leastRounds, suspicious(c.list), thorough && undecided(c.list):
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *contest) int { return order(a) - order(b) })
	return list
}

func order(c *contest) int {
	if suspicious(c.list) {
		return 0
	}
	return 1
}

// turns runs rounds until nothing more is to be known, or the time is over.
func turns(ctx context.Context, all []*contest, thorough bool, end time.Time, log io.Writer) error {
	for pass := leastRounds; pass <= mostRounds; pass++ {
		for _, c := range next(all, thorough) {
			rounds := max(1, leastRounds-c.rounds) // fewer have no spread
			if !end.IsZero() && time.Now().Add(time.Duration(rounds)*c.expected()).After(end) {
				continue // what takes less time may still fit
			}
			for range rounds {
				if err := c.round(ctx, log); err != nil {
					return err
				}
				fmt.Fprintf(log, "figures: round %d of %s took %.0f s\n", c.rounds, c.row.name(), c.took.Seconds())
				if c.failed != nil || c.base == nil {
					break
				}
			}
		}
	}
	return nil
}
