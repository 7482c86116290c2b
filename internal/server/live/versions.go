package live

import (
	"hash/maphash"
	"sync"
	"time"
)

// maxVersions bounds the versions of pages that are kept for other readers. One has some 50 KiB.
const maxVersions = 64

// versionFor is long enough for all who watch a page to get it after a change.
const versionFor = 2 * time.Second

// Version is a page as a stream sends it.
type Version struct {
	Event   string
	Sum     uint64 // of what changes; the same sum is the same page
	Settled bool   // the page will not change any more
}

// Versions are the latest versions of pages that all readers of a team share. They expire, because Triggers and Environments change too.
type Versions struct {
	seed maphash.Seed

	mu    sync.Mutex
	byKey map[string]*sharedVersion
}

type sharedVersion struct {
	change uint64    // the last change that it shows
	begun  time.Time // when it was rendered
	once   sync.Once
	Version
	err error
}

// NewVersions returns Versions of no page.
func NewVersions() *Versions {
	return &Versions{seed: maphash.MakeSeed(), byKey: map[string]*sharedVersion{}}
}

// Of returns the version after a change, which the first caller renders.
func (v *Versions) Of(key string, change uint64, now time.Time, render func() (Version, error)) (Version, error) {
	v.mu.Lock()
	shared := v.byKey[key]
	if shared == nil || shared.change != change || now.Sub(shared.begun) > versionFor {
		if len(v.byKey) >= maxVersions {
			clear(v.byKey)
		}
		shared = &sharedVersion{change: change, begun: now}
		v.byKey[key] = shared
	}
	v.mu.Unlock()
	shared.once.Do(func() { shared.Version, shared.err = render() })
	return shared.Version, shared.err
}

// Sum is the Sum of a page.
func (v *Versions) Sum(page []byte) uint64 { return maphash.Bytes(v.seed, page) }
