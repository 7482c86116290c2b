package live

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/internal/fairness"
)

// Config is what the streams of a server share.
type Config struct {
	Unsent       *fairness.TeamLimiter // bytes that were not read yet
	Heartbeat    time.Duration         // how often something is sent, so that proxies do not close the connection
	WriteTimeout time.Duration         // how long a browser may take to read an event
	Clock        clock.PassiveClock
}

// Stream writes server-sent events. It keeps only a hash of what it has sent, because there may be a thousand streams.
type Stream struct {
	*Config
	sum     uint64 // of the version that the browser has
	w       http.ResponseWriter
	control *http.ResponseController
	last    time.Time
	team    string
}

var errUnread = errors.New("too much waits to be read by browsers")

// Start begins the answer to a reader of the team.
func (c *Config) Start(w http.ResponseWriter, team string) *Stream {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold the events back
	w.WriteHeader(http.StatusOK)
	return &Stream{Config: c, w: w, control: http.NewResponseController(w), team: team}
}

// Send writes an event without data.
func (s *Stream) Send(event string) error {
	text, err := Event(event, nil)
	if err != nil {
		return err
	}
	return s.Write(text)
}

// SendVersion writes a version that the browser does not have, and reports whether it did.
func (s *Stream) SendVersion(v Version) (sent bool, err error) {
	if v.Sum == s.sum {
		return false, nil
	}
	s.sum = v.Sum
	return true, s.Write(v.Event)
}

// Event encodes a value as JSON without line breaks. HTML is not escaped: escapes would be most of it, and no event is in a page.
func Event(name string, value any) (string, error) {
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

// KeepAlive sends a comment if nothing was sent for the Heartbeat.
func (s *Stream) KeepAlive() error {
	if s.Clock.Since(s.last) < s.Heartbeat {
		return nil
	}
	return s.Write(": still here\n\n")
}

// Write fails if too much waits for slow browsers. This one connects again later.
func (s *Stream) Write(text string) error {
	if !s.Unsent.TryAcquireN(s.team, len(text)) {
		return errUnread
	}
	defer s.Unsent.ReleaseN(s.team, len(text))
	s.last = s.Clock.Now()
	_ = s.control.SetWriteDeadline(time.Now().Add(s.WriteTimeout)) // tests have no connection
	if _, err := io.WriteString(s.w, text); err != nil {
		return err
	}
	return s.control.Flush()
}
