package deployed

import (
	"maps"
	"slices"
	"time"
)

const (
	// reloadAfter lets the Environments of a burst name their objects before these are read.
	reloadAfter = time.Second

	// reloadPause is how many times as long as a list takes the watch waits before the next one: lists take a sixth of its time at most.
	reloadPause = 5

	// reloadTimeout is for API servers that do not answer: the next Environment that misses an object tries again.
	reloadTimeout = time.Minute
)

// reloadSoon lists the objects of a watch again, because some of them are missing. Until they are known, it serves those that it has.
func (w *watches) reloadSoon(running *watch) {
	running.mu.Lock()
	defer running.mu.Unlock()
	if running.reloads {
		return
	}
	running.reloads = true
	time.AfterFunc(max(reloadAfter, reloadPause*running.loaded), func() { w.reload(running) })
}

// reloadStale frees the room of objects that no Environment names any more.
func (w *watches) reloadStale() {
	w.mu.RLock()
	all := slices.Collect(maps.Values(w.sources))
	w.mu.RUnlock()
	for _, running := range all {
		if running.stale.Load() {
			w.reloadSoon(running)
		}
	}
}

func (w *watches) reload(running *watch) {
	if running.ctx.Err() != nil {
		return
	}
	fresh := w.start(&watch{source: running.source, resource: running.resource, namers: running.namers, room: running.room})
	timeout := time.AfterFunc(reloadTimeout, fresh.stop)
	listed := fresh.wait(w.clock)
	if !timeout.Stop() || !listed || !w.replace(running, fresh) {
		fresh.stop()
		running.mu.Lock()
		defer running.mu.Unlock()
		running.reloads = false
		return
	}
	running.stop()
	w.notify(fresh, nil)
}

// replace reports whether the watch was still used.
func (w *watches) replace(running, fresh *watch) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sources[running.source] != running {
		return false
	}
	w.sources[running.source] = fresh
	return true
}
