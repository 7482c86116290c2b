package match

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// scanAll tries every Trigger, as Index.Match would without buckets.
func scanAll(entries []*entry, n *notification.Notification, stop func() bool) (matched []*v1alpha1.Trigger) {
	a, work := newActivation(n), 0
	for _, e := range entries {
		if e.matcher.matches(a) {
			matched = append(matched, e.trigger)
		}
		if work += e.matcher.weight; work < stopEvery {
			continue
		}
		if work = 0; stop() {
			return nil
		}
	}
	return matched
}

// BenchmarkScanAgainstIndex prints what a notification costs a team of 10,000 Triggers, by the buckets and
// by a scan of all: the median of several rounds, with caches that hold the Triggers and with caches
// that hold something else, as between two notifications. Run it with -benchtime 1x.
func BenchmarkScanAgainstIndex(b *testing.B) {
	elsewhere := make([]byte, 128<<20)
	stop := func() bool { return time.Now().IsZero() }
	for _, name := range slices.Sorted(maps.Keys(mixes)) {
		x, n := filled(b, mixes[name].trigger, 10_000), mixes[name].notification
		entries := x.all(namespace)
		for _, caches := range []string{"warm", "cold"} {
			measure := func(match func() []*v1alpha1.Trigger) time.Duration {
				var took []time.Duration
				for range 41 {
					for i := 0; caches == "cold" && i < len(elsewhere); i += 64 {
						elsewhere[i]++
					}
					start := time.Now()
					if len(match()) == 0 {
						b.Fatal("nothing matched")
					}
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				return took[len(took)/2]
			}
			index := measure(func() []*v1alpha1.Trigger { return matchedBy(x, namespace, n) })
			scan := measure(func() []*v1alpha1.Trigger { return scanAll(entries, n, stop) })
			fmt.Printf("MATCH_10000 mix=%q caches=%s index=%v scan=%v\n", name, caches, index, scan)
		}
	}
}
