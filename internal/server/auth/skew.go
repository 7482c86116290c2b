package auth

import "time"

const (
	window = 16 // how many answers count: enough for a tenth of a second, and from the last minutes only

	drift      = 500e-6      // how fast two clocks may diverge, as a fraction: ten times the error of a bad crystal
	resolution = time.Second // of the HTTP Date header, which is truncated, not rounded
)

// skewMeter estimates this clock's time minus the other's, which lies in the interval that each answer gives.
type skewMeter struct{ answers []answer }

type answer struct {
	received  time.Time
	low, high time.Duration
}

// Observe adds the other clock's date in an answer. An answer that contradicts earlier ones replaces them: a clock was set.
func (m *skewMeter) Observe(sent, received, date time.Time) {
	a := answer{received: received, low: sent.Sub(date) - resolution, high: received.Sub(date)}
	m.answers = append(m.answers, a)
	if len(m.answers) > window {
		m.answers = m.answers[1:]
	}
	if low, high := m.bounds(); low > high {
		m.answers = []answer{a}
	}
}

func (m *skewMeter) bounds() (low, high time.Duration) {
	if len(m.answers) == 0 {
		return 0, 0
	}
	last := m.answers[len(m.answers)-1]
	low, high = last.low, last.high
	for _, a := range m.answers {
		slack := time.Duration(drift * float64(last.received.Sub(a.received)))
		low, high = max(low, a.low-slack), min(high, a.high+slack)
	}
	return low, high
}

// Offset is the smallest offset that the answers allow: a clock corrected by no more than is certain never overtakes the other.
func (m *skewMeter) Offset() time.Duration {
	low, high := m.bounds()
	switch {
	case low > 0:
		return low
	case high < 0:
		return high
	default:
		return 0
	}
}
