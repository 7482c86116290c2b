package run

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/view/logtext"
	"github.com/postflight-dev/postflight/internal/server/live"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

const (
	followPause = 200 * time.Millisecond // how long lines of a log are collected before they are sent
	// followBytes is how much HTML is sent at once, plus a line of at most 25 KiB. It is in memory until the browser reads it.
	followBytes = 32 << 10
)

// FollowLog sends lines of a log as they are written.
func (u *Pages) FollowLog(w http.ResponseWriter, r *site.Request) error {
	run, chosen, err := u.pickLog(r)
	if err != nil {
		return err
	}
	log, err := u.follow(r, run, chosen)
	if err != nil {
		return logUnavailable(u.logProblem(err, run))
	}
	defer log.Close()
	after, err := strconv.Atoi(r.Header.Get("Last-Event-ID")) // the browser connects again
	if err != nil {
		after, _ = strconv.Atoi(r.URL.Query().Get("after"))
	}
	return u.sendLines(u.Streams.Start(w, r.Namespace()), r, readLines(r, log, after))
}

func (u *Pages) follow(r *site.Request, run *runs.Run, l runs.Log) (io.ReadCloser, error) {
	if run.Suite.Finished() || !l.Live {
		return u.Runs.OpenLog(r.Context(), run, l, runs.AllLines)
	}
	return u.Runs.FollowLog(r.Context(), run, l, runs.AllLines), nil
}

// readLines reads a log in the background until the request ends, one line at a time.
func readLines(r *site.Request, log io.Reader, after int) <-chan logtext.Line {
	lines := make(chan logtext.Line)
	go func() {
		defer close(lines)
		_ = logtext.EachLine(log, func(number int, text []byte) bool { // the browser asks again
			if number <= after {
				return true
			}
			select {
			case lines <- logtext.LineOf(number, text):
				return true
			case <-r.Context().Done():
				return false
			}
		})
	}()
	return lines
}

// sendLines sends lines as HTML. The event's id is the number of the last.
func (u *Pages) sendLines(s *live.Stream, r *site.Request, lines <-chan logtext.Line) error {
	pause := time.NewTicker(followPause)
	defer pause.Stop()
	var html strings.Builder
	last := 0
	send := func() error {
		if html.Len() == 0 {
			return s.KeepAlive()
		}
		event, err := live.Event("lines", html.String())
		if err != nil {
			return err
		}
		html.Reset() // a browser may take its time to read the event
		return s.Write("id: " + strconv.Itoa(last) + "\n" + event)
	}
	for {
		select {
		case <-r.Context().Done():
			return nil
		case <-u.Changes.Closed():
			return nil
		case line, ok := <-lines:
			if !ok {
				if send() == nil {
					_ = s.Send("end")
				}
				return nil
			}
			if err := u.Templates["run"].ExecuteTemplate(&html, "log-line", line); err != nil {
				return err
			}
			if last = line.Number; html.Len() < followBytes {
				continue
			}
		case <-pause.C:
			if !u.MayStillRead(r) {
				return nil
			}
		}
		if send() != nil {
			return nil // the browser connects again
		}
	}
}
