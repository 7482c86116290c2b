package pages

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/server/live"
)

func isStream(r *request) bool {
	return r.Method == http.MethodGet && (strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream") || strings.HasSuffix(r.Pattern, "/live"))
}

// onlyGet refuses HEAD, which ServeMux takes for GET: the client would not read the stream, and reuse its connection.
func onlyGet(answer func(http.ResponseWriter, *request) error) func(http.ResponseWriter, *request) error {
	return func(w http.ResponseWriter, r *request) error {
		if r.Method != http.MethodGet {
			return notFound()
		}
		return answer(w, r)
	}
}

// streamFor is shorter behind a proxy, which authenticates a reader only when they connect.
func (u *UI) streamFor(r *request) time.Duration {
	if r.proxied {
		return u.Limits.ProxiedFor
	}
	return u.Limits.StreamFor
}

// stream sends a page as server-sent events whenever it has changed, until its reader may no longer read it.
func (u *UI) stream(w http.ResponseWriter, r *request, kind pageKind) error {
	wait, leave := u.paces.Join(r.namespace())
	defer leave()
	if wait(r.Context()) != nil {
		return overloaded()
	}
	p, err := kind.build(r)
	if err != nil {
		return err
	}
	if !p.Live {
		return notFound()
	}
	changed, unsubscribe := u.changes.Subscribe(r.namespace())
	defer unsubscribe()
	s := u.streams.Start(w, r.namespace())
	if r.proxied {
		if err := s.Write("retry: 200\n\n"); err != nil { // milliseconds, because the stream is short
			return nil
		}
	}
	recheck := time.NewTicker(u.Limits.Recheck)
	defer recheck.Stop()
	for {
		if wait(r.Context()) != nil {
			return nil
		}
		settled, err := u.sendVersion(s, r, kind)
		if err != nil {
			return nil // the browser connects again, if it is there, and learns why
		}
		if settled {
			_ = s.Send("settled")
			return nil
		}
		if !u.awaitChange(s, r, changed, recheck.C) {
			return nil
		}
	}
}

// awaitChange returns false at the end of the stream. It pauses, so that many changes are one version.
func (u *UI) awaitChange(s *live.Stream, r *request, changed <-chan struct{}, recheck <-chan time.Time) bool {
	rested, refresh := u.Clock.Now().Add(u.Limits.Interval), u.Clock.Now().Add(u.Limits.Refresh)
	pending := false
	for {
		select {
		case <-r.Context().Done():
			return false
		case <-u.changes.Closed():
			return false
		case <-changed:
			pending = true
		case <-recheck:
			if !u.mayStillRead(r) {
				_ = s.Send("gone")
				return false
			}
			if s.KeepAlive() != nil {
				return false
			}
			pending = pending || u.Clock.Now().After(refresh)
		}
		if pending && !u.Clock.Now().Before(rested) {
			return true
		}
	}
}

// mayStillRead looks up the reader's rights again. They stay for a while if the cluster or the provider is unavailable.
func (u *UI) mayStillRead(r *request) bool {
	before := *r
	if !r.signedIn {
		return u.authorize(r) == nil
	}
	switch err := u.recognize(r, r.identity); {
	case err == nil:
		return u.authorize(r) == nil
	case statusOf(err) == http.StatusForbidden: // their team was suspended
		return false
	default:
		*r = before
		return u.Clock.Since(r.confirmed) < u.Limits.UnconfirmedFor
	}
}

func (u *UI) sendVersion(s *live.Stream, r *request, kind pageKind) (settled bool, err error) {
	v, err := u.versionOf(r, kind)
	if err != nil {
		return false, err
	}
	sent, err := s.SendVersion(v)
	if sent {
		r.logSent = r.logRead
	}
	return v.Settled, err
}

func (u *UI) versionOf(r *request, p pageKind) (live.Version, error) {
	render := func() (live.Version, error) { return u.renderVersion(r, p) }
	if !p.shared {
		return render()
	}
	key := r.URL.Path + "?" + r.URL.RawQuery + " " + strconv.FormatBool(r.act)
	return u.versions.Of(key, u.changes.Count(r.namespace()), u.Clock.Now(), render)
}

func (u *UI) renderVersion(r *request, kind pageKind) (live.Version, error) {
	p, err := kind.build(r)
	if err != nil {
		return live.Version{}, err
	}
	var out bytes.Buffer
	if err := u.render(&out, r, p, "main"); err != nil {
		return live.Version{}, err
	}
	event, err := live.Event("page", map[string]string{"title": p.Title, "icon": u.icon(p.Icon), "html": out.String()})
	if err != nil {
		return live.Version{}, err
	}
	return live.Version{Event: event, Sum: u.versions.Sum(out.Bytes()), Settled: !p.Live}, nil
}
