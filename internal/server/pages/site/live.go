package site

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/server/live"
)

// isStream reports whether a browser asks for server-sent events.
func isStream(r *Request) bool {
	return r.Method == http.MethodGet &&
		(strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream") || strings.HasSuffix(r.Pattern, "/live"))
}

// OnlyGet refuses HEAD, which ServeMux takes for GET: the client would not read the stream, and reuse its connection.
func OnlyGet(answer func(http.ResponseWriter, *Request) error) func(http.ResponseWriter, *Request) error {
	return func(w http.ResponseWriter, r *Request) error {
		if r.Method != http.MethodGet {
			return NotFound()
		}
		return answer(w, r)
	}
}

// streamFor is shorter behind a proxy, which authenticates a reader only when they connect.
func (s *Site) streamFor(r *Request) time.Duration {
	if r.proxied {
		return s.Limits.ProxiedFor
	}
	return s.Limits.StreamFor
}

// stream sends a page as server-sent events whenever it has changed, until its reader may no longer read it.
func (s *Site) stream(w http.ResponseWriter, r *Request, kind Kind) error {
	wait, leave := s.paces.Join(r.Namespace())
	defer leave()
	if wait(r.Context()) != nil {
		return Overloaded()
	}
	p, err := kind.Build(r)
	if err != nil {
		return err
	}
	if !p.Live {
		return NotFound()
	}
	changed, unsubscribe := s.Changes.Subscribe(r.Namespace())
	defer unsubscribe()
	stream := s.Streams.Start(w, r.Namespace())
	if r.proxied {
		if err := stream.Write("retry: 200\n\n"); err != nil { // milliseconds, because the stream is short
			return nil
		}
	}
	recheck := time.NewTicker(s.Limits.Recheck)
	defer recheck.Stop()
	for {
		if wait(r.Context()) != nil {
			return nil
		}
		settled, err := s.sendVersion(stream, r, kind)
		if err != nil {
			return nil // the browser connects again, if it is there, and learns why
		}
		if settled {
			_ = stream.Send("settled")
			return nil
		}
		if !s.awaitChange(stream, r, changed, recheck.C) {
			return nil
		}
	}
}

// awaitChange returns false at the end of the stream. It pauses, so that many changes are one version.
func (s *Site) awaitChange(stream *live.Stream, r *Request, changed <-chan struct{}, recheck <-chan time.Time) bool {
	rested, refresh := s.Clock.Now().Add(s.Limits.Interval), s.Clock.Now().Add(s.Limits.Refresh)
	pending := false
	for {
		select {
		case <-r.Context().Done():
			return false
		case <-s.Changes.Closed():
			return false
		case <-changed:
			pending = true
		case <-recheck:
			if !s.MayStillRead(r) {
				_ = stream.Send("gone")
				return false
			}
			if stream.KeepAlive() != nil {
				return false
			}
			pending = pending || s.Clock.Now().After(refresh)
		}
		if pending && !s.Clock.Now().Before(rested) {
			return true
		}
	}
}

// MayStillRead looks up the reader's rights again. They stay for a while if the cluster or the provider is unavailable.
func (s *Site) MayStillRead(r *Request) bool {
	before := *r
	if !r.SignedIn {
		return s.Authorize(r) == nil
	}
	err := s.Recognize(r, r.Identity)
	switch {
	case err == nil:
		return s.Authorize(r) == nil
	case StatusOf(err) == http.StatusForbidden: // their team was suspended
		return false
	default:
		*r = before
		return s.Clock.Since(r.confirmed) < s.Limits.UnconfirmedFor
	}
}

func (s *Site) sendVersion(stream *live.Stream, r *Request, kind Kind) (settled bool, err error) {
	v, err := s.versionOf(r, kind)
	if err != nil {
		return false, err
	}
	sent, err := stream.SendVersion(v)
	if sent {
		r.Sent = r.Read
	}
	return v.Settled, err
}

func (s *Site) versionOf(r *Request, p Kind) (live.Version, error) {
	render := func() (live.Version, error) { return s.renderVersion(r, p) }
	if !p.Shared {
		return render()
	}
	key := r.URL.Path + "?" + r.URL.RawQuery + " " + strconv.FormatBool(r.Act)
	return s.versions.Of(key, s.Changes.Count(r.Namespace()), s.Clock.Now(), render)
}

func (s *Site) renderVersion(r *Request, kind Kind) (live.Version, error) {
	p, err := kind.Build(r)
	if err != nil {
		return live.Version{}, err
	}
	var out bytes.Buffer
	if err := s.render(&out, r, p, "main"); err != nil {
		return live.Version{}, err
	}
	event, err := live.Event("page", map[string]string{"title": p.Title, "icon": s.Icon(p.Icon), "html": out.String()})
	if err != nil {
		return live.Version{}, err
	}
	return live.Version{Event: event, Sum: s.versions.Sum(out.Bytes()), Settled: !p.Live}, nil
}
