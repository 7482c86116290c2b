package pages

import (
	"bytes"
	"hash/maphash"
	"strconv"
	"sync"
	"time"
)

// maxVersions bounds the versions of pages that are kept for other readers. One has some 50 KiB.
const maxVersions = 64

// versionFor is how long a version is kept: long enough for all who watch a page to get it after a change.
const versionFor = 2 * time.Second

// version is a page as it is sent on a stream.
type version struct {
	event string
	sum   uint64 // of what changes; the same sum is the same page

	settled bool // the page will not change any more
}

// versions are the latest versions of pages that are the same for all readers of a team. However many watch a list, it
// is rendered once after a change. They are kept for a moment only: Triggers and Environments change, too.
type versions struct {
	seed maphash.Seed

	mu    sync.Mutex
	byKey map[string]*sharedVersion
}

type sharedVersion struct {
	change uint64    // the last change that it shows
	begun  time.Time // when it was rendered
	once   sync.Once
	version
	err error
}

func newVersions() *versions {
	return &versions{seed: maphash.MakeSeed(), byKey: map[string]*sharedVersion{}}
}

// of is the version that shows a change, which render makes if nobody has yet.
func (v *versions) of(key string, change uint64, now time.Time, render func() (version, error)) (version, error) {
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
	shared.once.Do(func() { shared.version, shared.err = render() })
	return shared.version, shared.err
}

// versionOf is what the page is now.
func (u *UI) versionOf(r *request, p pageKind) (version, error) {
	render := func() (version, error) { return u.renderVersion(r, p) }
	if !p.shared {
		return render()
	}
	key := r.URL.Path + "?" + r.URL.RawQuery + " " + strconv.FormatBool(r.act)
	return u.versions.of(key, u.changes.count(r.namespace()), u.Clock.Now(), render)
}

func (u *UI) renderVersion(r *request, kind pageKind) (version, error) {
	p, err := kind.build(r)
	if err != nil {
		return version{}, err
	}
	var out bytes.Buffer
	if err := u.render(&out, r, p, "main"); err != nil {
		return version{}, err
	}
	event, err := eventOf("page", map[string]string{"title": p.Title, "icon": u.icon(p.Icon), "html": out.String()})
	if err != nil {
		return version{}, err
	}
	return version{event: event, sum: maphash.Bytes(u.versions.seed, out.Bytes()), settled: !p.Live}, nil
}
