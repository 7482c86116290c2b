package bounded

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// BenchmarkLedger: an event of a namespace with as many Triggers as are tracked, most of which are beyond the bound, and what they take.
func BenchmarkLedger(b *testing.B) {
	s := sourceOf(&stored{})
	before := heapBytes()
	for i := range trackedObjects {
		t := aTrigger(i, 100)
		t.Status.Conditions = refusedAs(fmt.Sprintf("%0200d", i))
		s.roster.admit(s, t)
	}
	each := (heapBytes() - before) / trackedObjects
	events := make([]*v1alpha1.Trigger, 100)
	for i := range events {
		events[i] = aTrigger(i*trackedObjects/len(events), 100)
	}
	for i := 0; b.Loop(); i++ {
		s.roster.admit(s, events[i%len(events)])
	}
	perEvent := float64(b.Elapsed().Microseconds()) / float64(b.N)
	fmt.Printf("LEDGER entries=%d us_per_event=%.1f bytes_per_entry=%d\n", trackedObjects, perEvent, each)
	runtime.KeepAlive(s)
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
