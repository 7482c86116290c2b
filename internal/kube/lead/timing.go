package lead

import (
	"fmt"
	"time"
)

// Timing says how long a leader that is silent stays the leader.
type Timing struct {
	// Lease is how long the others wait for a leader that does not renew it.
	Lease time.Duration

	// Renew is how long after it sent the last renewal that was stored a leader ends its term.
	Renew time.Duration

	// Retry is the pause between two attempts to acquire or to renew. Before an acquisition, it is up to 2.2 times as long.
	Retry time.Duration
}

// Leases that the API server can store, in whole seconds, and that an ordinary pause of a process does not cost.
const (
	minLease = 3 * time.Second
	maxLease = 5 * time.Minute
)

// NewTiming replaces a killed leader within 1.4 leases: others see its last renewal up to 2.2 retries late, and ask up to 2.2 retries after
// the lease has expired. What a term has started has one Retry to stop before that.
func NewTiming(lease time.Duration) Timing {
	retry := lease / 12
	return Timing{Lease: lease, Renew: lease - retry, Retry: retry}
}

// Validate reports a lease that is too short or too long.
func (t Timing) Validate() error {
	if t.Lease < minLease || t.Lease > maxLease || t.Lease%time.Second != 0 {
		return fmt.Errorf("must be from %s to %s, in whole seconds", minLease, maxLease)
	}
	return nil
}

// fenced is how long after a renewal a leader may write: a request on its way then has two Retries to arrive before the next leader begins.
func (t Timing) fenced() time.Duration { return t.Lease - 2*t.Retry }
