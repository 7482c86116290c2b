package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapFloor is half of the memory that config/default requests. Below it, garbage is not worth a collection: a manager with few runs keeps
// 20 MiB, and collected ten times in a burst of 1,000 notifications.
const heapFloor = 64 << 20

// collectAbove sets GOGC after each collection, so that the next begins when the heap has the floor, or twice what it keeps. GOMEMLIMIT
// counts before it. It does nothing if GOGC is set.
func collectAbove(floor uint64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(gcPercent(live[0].Value.Uint64(), floor))
	runtime.AddCleanup(new(collection), collectAbove, floor) // runs after the next collection
}

// collection is garbage at once. It has a size, as cleanups of empty objects may never run, and a pointer, as small objects without any
// are freed together.
type collection struct{ _ *byte }

const gcPercentOfGo = 100

func gcPercent(live, floor uint64) int {
	if live >= floor/2 {
		return gcPercentOfGo
	}
	return int(min((floor-live)*100/max(live, 1), 10_000))
}
