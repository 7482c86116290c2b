package plot

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTicks(t *testing.T) {
	cases := map[string]struct {
		reason string
		got    []float64
		want   []float64
	}{
		"No count":            {"An axis has a length.", counts(0), []float64{0, 1}},
		"One":                 {"There is no half run.", counts(1), []float64{0, 1}},
		"A few":               {"Steps of two are easy to read.", counts(5), []float64{0, 2, 4}},
		"Dozens":              {"Steps of twenty are, too.", counts(44), []float64{0, 20, 40}},
		"Thousands":           {"Steps grow with the values.", counts(9000), []float64{0, 5000}},
		"Milliseconds":        {"Unit tests are quick.", seconds(.25), []float64{0, .1, .2}},
		"Seconds":             {"The longest may be above the last tick.", seconds(5.2), []float64{0, 2, 4}},
		"Minutes":             {"Ticks are at half minutes, not at 20 s.", seconds(61), []float64{0, 30, 60}},
		"Hours":               {"Half an hour is a step.", seconds(5000), []float64{0, 1800, 3600}},
		"Days":                {"Long ones are counted in days.", seconds(5 * 86400), []float64{0, 2 * 86400, 4 * 86400}},
		"Less than nothing":   {"Clocks can be wrong.", seconds(-3), []float64{0, .1}},
		"What is not a value": {"It is drawn like nothing.", seconds(math.NaN()), []float64{0, .1}},
	}
	for name, tc := range cases {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s\n%s: %s", tc.reason, name, diff)
		}
	}
}

// hard are values that broke plots: none, one, equal, tiny beside huge, and what no clock or counter should say.
var hard = map[string][]float64{
	"none": {}, "one": {3}, "zeros": {0, 0, 0}, "equal": {7, 7, 7, 7}, "tiny beside huge": {1, 1e9, 1}, "negative": {-5, 2},
	"not a number": {math.NaN(), 1, math.Inf(1), math.Inf(-1)}, "the largest": {math.MaxFloat64, math.MaxFloat64}, "small": {1e-9, 2e-9},
	"ninety": slices.Repeat([]float64{1, 40, 0}, 30),
}

// box collects what is outside of a box, or no number.
type box struct {
	t      *testing.T
	name   string
	height float64
}

func (b box) has(what string, x, y float64) {
	b.t.Helper()
	const rounding = 1e-6
	if !(x >= -rounding && x <= 100+rounding && y >= -rounding && y <= b.height+rounding) { // NaN compares with nothing
		b.t.Errorf("%s: %s is at %v, %v of a box of 100 by %v", b.name, what, x, y, b.height)
	}
}

func TestEverythingIsWithinTheBox(t *testing.T) {
	for name, values := range hard {
		b := box{t, name, 140}
		dots := DotsOf(b.height, 24, 8, values)
		for i, d := range dots.Dots {
			b.has(fmt.Sprint("dot ", i), d.X, d.Y)
			b.has("the mark", dots.Between(i), 0)
		}
		line := LineOf(b.height, bands(values))
		for _, s := range line.Stretches {
			for _, p := range slices.Concat(s.Low, s.High, s.Band) {
				b.has("a point", p.X, p.Y)
			}
		}
		bars := BarsOf(b.height, stacks(values))
		b.has("the axis", 0, bars.Axis)
		for _, segments := range bars.Bars {
			for _, s := range segments {
				b.has("a segment", s.X, s.Y)
				b.has("the end of a segment", s.X+s.Width, s.Y+s.Height)
			}
		}
		for _, tick := range slices.Concat(dots.Ticks, line.Ticks, bars.Ticks) {
			b.has("a tick", 0, tick.Y)
		}
	}
}

// bands leaves out every fifth value, and those after the 60th.
func bands(values []float64) (all []Value) {
	for i, v := range values {
		all = append(all, Value{Low: v, High: v / 2, Known: i%5 != 4 && i < 60})
	}
	return all
}

func stacks(values []float64) (all []Stack) {
	for i, v := range values {
		n := int(known(v))
		all = append(all, Stack{Up: []int{n}, Down: []int{n % 7, i % 3, -i}})
	}
	return all
}

func TestBars(t *testing.T) {
	b := BarsOf(115, []Stack{{Up: []int{10}, Down: []int{0, 2}}, {}})
	want := Bars{Height: 115, Axis: 94.33333333333333, Slot: 50, Ticks: []Tick{{5, 50.16666666666666}, {10, 5.999999999999986}}, Bars: [][]Segment{{
		{Part: 0, X: 6, Width: 38, Y: 5.999999999999986, Height: 88.33333333333334},
		{Part: 1, Below: true, X: 6, Width: 38, Y: 94.33333333333333, Height: 17.666666666666668},
	}, nil}}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Error(diff)
	}
	if only := BarsOf(115, []Stack{{Up: []int{10}}}); only.Axis != 115 {
		t.Errorf("without failures, the axis is at %v and not at the bottom", only.Axis)
	}
}

func TestLine(t *testing.T) {
	value := func(low, high float64) Value { return Value{low, high, true} }
	l := LineOf(120, []Value{value(1, 2), value(3, 6), {}, {}, {}, {}, {}, value(2, 2)})
	want := []Stretch{
		{Low: []Point{{6.25, 100}, {18.75, 60}}, High: []Point{{6.25, 80}, {18.75, 0}}, Band: []Point{{6.25, 80}, {18.75, 0}, {18.75, 60}, {6.25, 100}}},
		{Low: []Point{{87.5, 80}, {100, 80}}, High: []Point{{87.5, 80}, {100, 80}}, Band: []Point{{87.5, 80}, {100, 80}, {100, 80}, {87.5, 80}}},
	}
	if diff := cmp.Diff(want, l.Stretches); diff != "" {
		t.Error(diff)
	}
}

func TestShare(t *testing.T) {
	for _, tc := range []struct {
		n, most int
		want    float64
	}{{0, 10, 0}, {10, 10, 100}, {1, 0, 0}, {1, 4, 50}, {1, 1_000_000, leastShare}, {-1, 5, 0}, {7, 5, 100}} {
		if got := Share(tc.n, tc.most); got != tc.want {
			t.Errorf("%d of %d: %v, want %v", tc.n, tc.most, got, tc.want)
		}
	}
}
