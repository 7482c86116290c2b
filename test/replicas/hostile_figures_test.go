package replicas

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/tier"
)

// series are requests of one kind.
type series struct {
	took     []time.Duration // of those that did not fail, in ascending order
	failures []string
}

// repeat makes a request at least once, with a pause after each.
func repeat(stop <-chan struct{}, pause time.Duration, request func() error) (s series) {
	for {
		began := time.Now()
		if err := request(); err == nil {
			s.took = append(s.took, time.Since(began))
		} else {
			s.failures = append(s.failures, err.Error())
		}
		select {
		case <-stop:
			slices.Sort(s.took)
			return s
		case <-time.After(pause):
		}
	}
}

func (s series) requests() int { return len(s.took) + len(s.failures) }

// at is 0 if all have failed.
func (s series) at(share float64) time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	return s.took[int(share*float64(len(s.took)-1))]
}

func (s series) median() time.Duration  { return s.at(0.5) }
func (s series) slowest() time.Duration { return s.at(1) }

// figures are what a team gets: the answers to its notifications and events, the first statuses of its Environments, its pages, and the
// answers to tokens of its CI jobs.
type figures struct{ notifications, events, statuses, pages, tokens series }

// String has times in milliseconds.
func (f figures) String() string {
	var all []string
	for _, k := range []struct {
		name string
		series
	}{{"notification", f.notifications}, {"event", f.events}, {"status", f.statuses}, {"page", f.pages}, {"token", f.tokens}} {
		all = append(all, fmt.Sprintf("%[1]s_requests=%[2]d %[1]s_failures=%[3]d %[1]s_median_ms=%[4]d %[1]s_slowest_ms=%[5]d",
			k.name, k.requests(), len(k.failures), k.median().Milliseconds(), k.slowest().Milliseconds()))
	}
	return strings.Join(all, " ")
}

// checkAnswers compares no times: nothing may have failed.
func (f figures) checkAnswers(t *testing.T) {
	t.Helper()
	for name, s := range map[string]series{"notifications": f.notifications, "events": f.events, "statuses": f.statuses, "pages": f.pages, "tokens": f.tokens} {
		if n := len(s.failures); n > 0 {
			t.Errorf("%d of %d %s failed, the first so: %s", n, s.requests(), name, s.failures[0])
		}
	}
}

// checkTimes measures all of them once more if one takes too long.
func (f figures) checkTimes(t *testing.T, again func() figures) {
	t.Helper()
	for what, c := range map[string]struct {
		bound time.Duration
		took  func(figures) time.Duration
	}{
		"half of the notifications":    {promptly, func(f figures) time.Duration { return f.notifications.median() }},
		"the first status, at slowest": {statusWithin, func(f figures) time.Duration { return f.statuses.slowest() }},
		"half of the pages":            {pageWithin, func(f figures) time.Duration { return f.pages.median() }},
	} {
		measured := func() figures { return f }
		tier.AtMost(t, what, c.bound, func() time.Duration {
			took := c.took(measured())
			measured = again
			return took
		})
	}
}
