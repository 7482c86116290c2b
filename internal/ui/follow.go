package ui

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/postflight-dev/postflight/internal/runs"
	"github.com/postflight-dev/postflight/internal/ui/view"
)

const (
	// followPause is how long lines of a log are collected before they are sent.
	followPause = 200 * time.Millisecond

	// followLines bounds what is sent at once: of a log that is faster, the page leaves the rest to its next version.
	followLines = 500
)

// rawLine is a line of a log that is being followed.
type rawLine struct {
	number int
	text   []byte
}

// followLog sends the lines of a log after the one that the browser has, as they are written.
func (u *UI) followLog(w http.ResponseWriter, r *request) error {
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
	return u.sendLines(u.newStream(w), r, readLines(r, log, after))
}

// follow waits for more of a log while its run goes on.
func (u *UI) follow(r *request, run *runs.Run, l runs.Log) (io.ReadCloser, error) {
	if run.Suite.Finished() || !l.Live {
		return u.Runs.OpenLog(r.Context(), run, l, runs.AllLines)
	}
	return u.Runs.FollowLog(r.Context(), run, l, runs.AllLines), nil
}

// readLines reads a log in the background until the request ends. The channel is closed with the log.
func readLines(r *request, log io.Reader, after int) <-chan rawLine {
	lines := make(chan rawLine, followLines)
	go func() {
		defer close(lines)
		_ = eachLine(log, func(number int, text []byte) bool { // the browser asks again
			if number <= after {
				return true
			}
			select {
			case lines <- rawLine{number, bytes.Clone(text)}:
				return true
			case <-r.Context().Done():
				return false
			}
		})
	}()
	return lines
}

func (u *UI) sendLines(s *eventStream, r *request, lines <-chan rawLine) error {
	pause := time.NewTicker(followPause)
	defer pause.Stop()
	var pending []rawLine
	for {
		select {
		case <-r.Context().Done():
			return nil
		case <-u.changes.closed:
			return nil
		case line, ok := <-lines:
			if ok {
				if pending = append(pending, line); len(pending) < followLines {
					continue
				}
			}
			if err := u.sendBatch(s, pending); err != nil || !ok {
				_ = s.send("end", nil)
				return nil
			}
			pending = nil
		case <-pause.C:
			if !u.mayStillRead(r) {
				return nil
			}
			if err := u.sendBatch(s, pending); err != nil {
				return nil
			}
			pending = nil
		}
	}
}

// sendBatch sends lines as HTML, with the number of the last as the event's id.
func (u *UI) sendBatch(s *eventStream, lines []rawLine) error {
	if len(lines) == 0 {
		if u.Clock.Since(s.last) < u.Limits.Heartbeat {
			return nil
		}
		return s.comment()
	}
	var html bytes.Buffer
	for _, line := range lines {
		if err := u.templates["run"].ExecuteTemplate(&html, "log-line", view.LineOf(line.number, line.text)); err != nil {
			return err
		}
	}
	return s.sendWithID(strconv.Itoa(lines[len(lines)-1].number), "lines", html.String())
}
