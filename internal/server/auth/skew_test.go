package auth

import (
	"math/rand/v2"
	"testing"
	"time"
)

var probedFrom = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// probes observes answers over a minute, of another clock that this one is ahead of by the offset.
func probes(m *skewMeter, from time.Time, offset time.Duration, count int) {
	dice := rand.New(rand.NewPCG(1, 2))
	for i := range count {
		there := from.Add(time.Duration(i)*4*time.Second + time.Duration(dice.Int64N(int64(2*time.Second))))
		way, back := time.Duration(dice.Int64N(int64(20*time.Millisecond))), time.Duration(dice.Int64N(int64(20*time.Millisecond)))
		m.Observe(there.Add(offset-way), there.Add(offset+back), there.Truncate(time.Second))
	}
}

func TestOffset(t *testing.T) {
	cases := map[string]struct {
		offset time.Duration
		count  int
		within time.Duration
	}{
		"no answer says nothing":                    {offset: 0, count: 0},
		"clocks that agree are left alone":          {offset: 0, count: 1},
		"clocks that agree stay alone":              {offset: 0, count: 50},
		"one answer measures an hour to the second": {offset: time.Hour, count: 1, within: 1100 * time.Millisecond},
		"more answers tell it better":               {offset: time.Hour, count: 20, within: 200 * time.Millisecond},
		"an hour behind":                            {offset: -time.Hour, count: 20, within: 200 * time.Millisecond},
		"less than the resolution, ahead":           {offset: 700 * time.Millisecond, count: 20, within: 200 * time.Millisecond},
		"less than the resolution, behind":          {offset: -700 * time.Millisecond, count: 20, within: 200 * time.Millisecond},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &skewMeter{}
			probes(m, probedFrom, tc.offset, tc.count)
			got := m.Offset()
			if miss := (tc.offset - got).Abs(); miss > tc.within {
				t.Errorf("offset %s, want %s within %s", got, tc.offset, tc.within)
			}
			if got.Abs() > tc.offset.Abs() {
				t.Errorf("offset %s is more than the true %s", got, tc.offset)
			}
		})
	}
}

func TestClockIsSet(t *testing.T) {
	m := &skewMeter{}
	probes(m, probedFrom, time.Hour, 20)
	probes(m, probedFrom.Add(2*time.Minute), 0, 1)
	if got := m.Offset(); got != 0 {
		t.Errorf("offset %s after the clock was set right, want 0", got)
	}
}

// TestSlowDrift: the offset follows a clock that drifts slowly, because its answers do not contradict each other.
func TestSlowDrift(t *testing.T) {
	m := &skewMeter{}
	for i := range 1000 {
		there := probedFrom.Add(time.Duration(i) * 5300 * time.Millisecond)
		offset := 3*time.Second + time.Duration(i)*500*time.Microsecond // 94 ppm
		m.Observe(there.Add(offset), there.Add(offset+time.Millisecond), there.Truncate(time.Second))
		if miss := (offset - m.Offset()).Abs(); i > window && miss > 300*time.Millisecond {
			t.Fatalf("after %d answers: offset %s, want %s", i, m.Offset(), offset)
		}
	}
}
