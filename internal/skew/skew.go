// Package skew measures how far this machine's clock is from another's, by answers that name the other's
// time to the second.
//
// It is pure: times in, an offset out.
package skew

import "time"

const (
	// window is how many answers count: enough to tell a tenth of a second, and of the last minutes only.
	window = 16

	// drift is how fast two clocks may part, as a fraction: ten times what bad crystals do.
	drift = 500e-6

	// resolution of the Date header of HTTP, which is cut, not rounded.
	resolution = time.Second
)

// Meter holds what the last answers say of the offset: this clock's time minus the other's. Each answer
// leaves an interval of about a second, and the offset lies in all of them.
type Meter struct{ answers []answer }

type answer struct {
	received  time.Time
	low, high time.Duration
}

// Observe takes an answer that was asked for and received at these times of this clock, and names the
// other clock's time, cut to the second. An answer that contradicts the earlier ones replaces them: a
// clock was set.
func (m *Meter) Observe(sent, received, date time.Time) {
	a := answer{received: received, low: sent.Sub(date) - resolution, high: received.Sub(date)}
	m.answers = append(m.answers, a)
	if len(m.answers) > window {
		m.answers = m.answers[1:]
	}
	if low, high := m.bounds(); low > high {
		m.answers = []answer{a}
	}
}

// bounds are the least and the greatest offset that all answers allow.
func (m *Meter) bounds() (low, high time.Duration) {
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

// Offset is the least one that the answers allow, and none where they allow none: most clocks agree, and
// a clock that is corrected by no more than what is known never overtakes the other. As answers come in it
// approaches the truth without a leap.
func (m *Meter) Offset() time.Duration {
	switch low, high := m.bounds(); {
	case low > 0:
		return low
	case high < 0:
		return high
	default:
		return 0
	}
}
