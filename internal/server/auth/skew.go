package auth

import "time"

const (
	// window is how many answers count: enough for a tenth of a second, and from the last minutes only.
	window = 16

	// drift is how fast two clocks may diverge, as a fraction: ten times the error of a bad crystal.
	drift = 500e-6

	// resolution of the Date header of HTTP, which is truncated, not rounded.
	resolution = time.Second
)

// skewMeter estimates the offset: this clock's time minus the other's. Each answer gives an interval of about a
// second, and the offset lies in all of them.
type skewMeter struct{ answers []answer }

type answer struct {
	received  time.Time
	low, high time.Duration
}

// Observe adds an answer: when the request was sent and the answer received, by this clock, and the other
// clock's time in it, truncated to the second. An answer that contradicts the earlier ones replaces them, because
// a clock was set.
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

// Offset is the smallest offset that the answers allow, or 0 if they allow that: most clocks agree, and a clock that is
// corrected by no more than is certain never overtakes the other. More answers bring it closer to the truth without a jump.
func (m *skewMeter) Offset() time.Duration {
	switch low, high := m.bounds(); {
	case low > 0:
		return low
	case high < 0:
		return high
	default:
		return 0
	}
}
