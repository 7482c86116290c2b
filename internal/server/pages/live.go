package pages

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// isStream reports whether the answer goes on until something ends it.
func isStream(r *request) bool {
	return r.Method == http.MethodGet && (strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream") || strings.HasSuffix(r.Pattern, "/live"))
}

// onlyGet keeps a HEAD, which ServeMux takes for a GET, from an answer that goes on: the client does not read it, and sends
// its next request on the same connection.
func onlyGet(answer func(http.ResponseWriter, *request) error) func(http.ResponseWriter, *request) error {
	return func(w http.ResponseWriter, r *request) error {
		if r.Method != http.MethodGet {
			return notFound()
		}
		return answer(w, r)
	}
}

// streamFor is how long a stream may last. A proxy says who somebody is only when they connect.
func (u *UI) streamFor(r *request) time.Duration {
	if r.proxied {
		return u.Limits.ProxiedFor
	}
	return u.Limits.StreamFor
}

// stream sends a page as server-sent events, again whenever it has changed, until its reader may no longer read it.
func (u *UI) stream(w http.ResponseWriter, r *request, kind pageKind) error {
	turn, leave := u.paces.join(r.namespace())
	defer leave()
	if turn(r.Context()) != nil {
		return overloaded()
	}
	p, err := kind.build(r)
	if err != nil {
		return err
	}
	if !p.Live {
		return notFound()
	}
	changed, unsubscribe := u.changes.subscribe(r.namespace())
	defer unsubscribe()
	s := u.newStream(w, r)
	if r.proxied {
		if err := s.write("retry: 200\n\n"); err != nil { // milliseconds, because the stream is short
			return nil
		}
	}
	recheck := time.NewTicker(u.Limits.Recheck)
	defer recheck.Stop()
	for {
		if turn(r.Context()) != nil {
			return nil
		}
		settled, err := u.sendVersion(s, r, kind)
		if err != nil {
			return nil // the browser connects again, if it is there, and learns why
		}
		if settled {
			_ = s.send("settled")
			return nil
		}
		if !u.awaitChange(s, r, changed, recheck.C) {
			return nil
		}
	}
}

// awaitChange is false when the stream is over. After a change it rests, so that many changes are one version.
func (u *UI) awaitChange(s *eventStream, r *request, changed <-chan struct{}, recheck <-chan time.Time) bool {
	rested, refresh := u.Clock.Now().Add(u.Limits.Interval), u.Clock.Now().Add(u.Limits.Refresh)
	pending := false
	for {
		select {
		case <-r.Context().Done():
			return false
		case <-u.changes.closed:
			return false
		case <-changed:
			pending = true
		case <-recheck:
			if !u.mayStillRead(r) {
				_ = s.send("gone")
				return false
			}
			if s.keepAlive() != nil {
				return false
			}
			pending = pending || u.Clock.Now().After(refresh)
		}
		if pending && !u.Clock.Now().Before(rested) {
			return true
		}
	}
}

// mayStillRead looks up the reader's rights again. While the cluster or the provider is away, they stay for a while.
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

// sendVersion sends the page, if it is not what the browser has. It is settled if it will not change any more.
func (u *UI) sendVersion(s *eventStream, r *request, kind pageKind) (settled bool, err error) {
	v, err := u.versionOf(r, kind)
	if err != nil || v.sum == s.sum {
		return v.settled, err
	}
	s.sum, r.logSent = v.sum, r.logRead
	return v.settled, s.write(v.event)
}

// eventStream writes server-sent events. It keeps nothing of what it has sent but a hash: there may be a thousand.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	sum     uint64 // of the version that the browser has
	last    time.Time
	ui      *UI
	team    string
}

func (u *UI) newStream(w http.ResponseWriter, r *request) *eventStream {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold the events back
	w.WriteHeader(http.StatusOK)
	return &eventStream{w: w, control: http.NewResponseController(w), ui: u, team: r.namespace()}
}

// send writes an event without data.
func (s *eventStream) send(event string) error {
	text, err := eventOf(event, nil)
	if err != nil {
		return err
	}
	return s.write(text)
}

// eventOf is an event with a value as JSON, which has no line breaks. The angle brackets of HTML stay as they are: escaped
// for a page in which no event ever is, they would be most of it.
func eventOf(name string, value any) (string, error) {
	var event strings.Builder
	event.WriteString("event: " + name + "\ndata: ")
	out := json.NewEncoder(&event)
	out.SetEscapeHTML(false)
	if err := out.Encode(value); err != nil {
		return "", err
	}
	event.WriteByte('\n')
	return event.String(), nil
}

// keepAlive sends something if nothing was sent for long.
func (s *eventStream) keepAlive() error {
	if s.ui.Clock.Since(s.last) < s.ui.Limits.Heartbeat {
		return nil
	}
	return s.write(": still here\n\n")
}

// write fails if too much waits to be read by other browsers: this one connects again after a while.
func (s *eventStream) write(text string) error {
	if !s.ui.unsent.TryAcquireN(s.team, len(text)) {
		return overloaded()
	}
	defer s.ui.unsent.ReleaseN(s.team, len(text))
	s.last = s.ui.Clock.Now()
	_ = s.control.SetWriteDeadline(time.Now().Add(s.ui.Limits.WriteTimeout)) // tests have no connection
	if _, err := io.WriteString(s.w, text); err != nil {
		return err
	}
	return s.control.Flush()
}
