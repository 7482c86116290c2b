package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestJudge(t *testing.T) {
	eight := func(v float64) []float64 { return slices.Repeat([]float64{v}, 8) }
	cases := map[string]struct {
		reason    string
		base, now []float64
		meaning   meaning
		want      verdict
	}{
		"the same size":          {"nothing changed", eight(100), eight(100), less, same},
		"a few more bytes":       {"2 % are no reason to fail", eight(100), eight(102), less, same},
		"a larger object":        {"sizes do not vary", eight(100), eight(106), less, worse},
		"a larger object, early": {"four runs are too few to fail", eight(100)[:4], eight(106)[:4], less, unclear},
		"a smaller object":       {"", eight(100)[:4], eight(90)[:4], less, better},
		"slower":                 {"less per second", eight(100), eight(90), more, worse},
		"faster":                 {"more per second", eight(100), eight(120), more, better},
		"one slow run": {"an outlier neither fails nor hides that the rest is equal",
			[]float64{100, 101, 99, 100, 102, 98, 100, 101}, []float64{100, 99, 101, 100, 180, 99, 101, 100}, less, same},
		"one slow run of the base": {"such a comparison proves nothing",
			[]float64{100, 101, 99, 100, 180, 98, 100, 101, 99, 100}, []float64{130, 131, 129, 130, 132, 128, 130, 131, 130, 129}, less, unclear},
		"one slow run, slower than the others": {"four of a hundred pairs may be the other way round",
			[]float64{100, 101, 99, 100, 134, 98, 100, 101, 99, 100}, []float64{130, 131, 129, 130, 138, 138, 139, 138, 139, 138}, less, worse},
		"ever slower": {"only runs of the same round compare",
			[]float64{100, 101, 120, 121, 140, 141, 170, 171}, []float64{115, 114, 138, 137, 162, 161, 195, 194}, less, worse},
		"noise":           {"runs differ by half", []float64{100, 150, 80, 120}, []float64{110, 160, 90, 130}, less, unclear},
		"nothing, twice":  {"no request in both", eight(0), eight(0), less, same},
		"from nothing":    {"requests where there were none", eight(0), eight(2), less, worse},
		"down to nothing": {"no request any more", eight(2), eight(0), less, better},
	}
	for name, tc := range cases {
		if s, got := judge(tc.base, tc.now, tc.meaning); got != tc.want {
			t.Errorf("%s: %s (%s): %+v, want %s", name, got, tc.reason, s, tc.want)
		}
	}
}

// TestOrders: of 4 and 4 runs there are 70 orders, one without any pair the wrong way round.
func TestOrders(t *testing.T) {
	orders, all := ordersOf(4, 4), 0.0
	for _, count := range orders {
		all += count
	}
	if all != 70 || orders[0] != 1 || orders[2] != 2 || orders[16] != 1 || orders[8] != 8 {
		t.Errorf("%v, of %v", orders, all)
	}
	for runs, want := range map[int]int{4: 0, 6: 0, 8: 1, 10: 5} {
		if got := outermost(runs, runs, lossDoubt); got != want {
			t.Errorf("%d runs: the ends are the ratios of rank %d, want %d", runs, got, want)
		}
	}
	if got := spreadOf([]float64{1, 2, 3}, []float64{1, 2, 3}, lossDoubt); got.low != 0 || !math.IsInf(got.high, 1) {
		t.Errorf("three runs prove nothing: %+v", got)
	}
}

// machine is a way in which runs of one commit differ from each other.
type machine struct {
	noise float64 // standard deviation of a run
	drift float64 // from the first run to the last
	stall float64 // chance that a run takes twice as long
}

// compared plays a comparison in turns.
func (m machine) compared(random *rand.Rand, loss float64) verdict {
	var base, now []float64
	var v verdict
	run := func(factor float64) float64 {
		at := float64(len(base)+len(now)) / (4 * mostRounds)
		took := factor * math.Exp(m.noise*random.NormFloat64()) * (1 + m.drift*at)
		if random.Float64() < m.stall {
			took *= 2
		}
		return took
	}
	for round := 1; round <= mostRounds; round++ {
		base = append(base, run(1))
		now = append(now, run(1+loss), run(1+loss))
		base = append(base, run(1))
		if round < leastRounds {
			continue
		}
		if _, v = judge(base, now, less); v != unclear {
			break
		}
	}
	return v
}

// TestAlarms counts verdicts about made-up runs, with and without a loss. A failed night must mean something: of 1,000 comparisons
// of equal commits, at most 1 may fail. And a loss may be unclear, but seldom called the same.
func TestAlarms(t *testing.T) {
	const times = 1000
	type bound struct{ found, missed int } // per mille: what is found at least, and what is called the same or better at most
	for _, tc := range []struct {
		name    string
		machine machine
		losses  map[int]bound // in percent
	}{
		{"noise of 5 %", machine{noise: .05}, map[int]bound{5: {40, 850}, 15: {900, 20}, 30: {1000, 0}}},
		{"noise of 10 %", machine{noise: .1}, map[int]bound{5: {0, 700}, 15: {180, 90}, 30: {850, 5}}},
		{"noise of 20 %", machine{noise: .2}, map[int]bound{5: {0, 400}, 15: {10, 120}, 30: {150, 20}}},
		{"noise of 5 %, ever slower", machine{noise: .05, drift: .3}, map[int]bound{5: {10, 900}, 15: {800, 30}, 30: {995, 0}}},
		{"noise of 5 %, with stalls", machine{noise: .05, stall: .05}, map[int]bound{5: {20, 850}, 15: {550, 50}, 30: {600, 5}}},
	} {
		random := rand.New(rand.NewPCG(52, 52))
		for _, loss := range []int{0, 5, 15, 30} {
			counts := map[verdict]int{}
			for range times {
				counts[tc.machine.compared(random, float64(loss)/100)]++
			}
			t.Logf("%s, a loss of %d %%: of %d, %v", tc.name, loss, times, counts)
			found, missed, want := counts[worse], counts[same]+counts[better], tc.losses[loss]
			if loss == 0 && found > 1 {
				t.Errorf("%s: %d of %d equal commits are called worse", tc.name, found, times)
			}
			if loss > 0 && (found < want.found || missed > want.missed) {
				t.Errorf("%s, a loss of %d %%: found %d, missed %d, want %+v", tc.name, loss, found, missed, want)
			}
		}
	}
}
