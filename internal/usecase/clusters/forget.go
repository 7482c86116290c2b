package clusters

import "time"

// entryOf makes room for a pair that is new. The caller holds the lock.
func (o *Overviews) entryOf(p pair) *entry {
	if e := o.asked[p]; e != nil {
		return e
	}
	ofCluster := 0
	for other := range o.asked {
		if other.cluster == p.cluster {
			ofCluster++
		}
	}
	switch {
	case ofCluster >= o.KeptOfOne:
		o.forgetOldest(func(e *entry) bool { return e.cluster == p.cluster })
	case len(o.asked) >= o.Kept:
		o.forgetOldest(func(*entry) bool { return true })
	}
	e := &entry{pair: p}
	o.asked[p] = e
	return e
}

// forgetOldest forgets what no page has shown for longest. An open question stays with the pages that wait for it.
func (o *Overviews) forgetOldest(among func(*entry) bool) {
	var oldest *entry
	for _, e := range o.asked {
		if among(e) && (oldest == nil || e.lookedAt.Before(oldest.lookedAt)) {
			oldest = e
		}
	}
	if oldest != nil {
		delete(o.asked, oldest.pair)
	}
}

// sweepLater forgets what no page shows any more, also if no page is ever shown again. The caller holds the lock.
func (o *Overviews) sweepLater() {
	if o.sweeping || len(o.asked) == 0 {
		return
	}
	o.sweeping = true
	o.Clock.AfterFunc(o.KeptFor, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.sweeping = false
		o.sweep(o.Clock.Now())
		o.sweepLater()
	})
}

func (o *Overviews) sweep(now time.Time) {
	kept := map[string]bool{}
	for p, e := range o.asked {
		if now.Sub(e.lookedAt) >= o.KeptFor {
			delete(o.asked, p)
			continue
		}
		kept[p.cluster] = true
	}
	for name, c := range o.clusters {
		if !kept[name] && c.asking == 0 && len(c.queue) == 0 {
			delete(o.clusters, name)
		}
	}
}
