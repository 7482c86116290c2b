package ui

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/runs"
	"github.com/postflight-dev/postflight/internal/ui/view"
)

const (
	// followPause is how long lines of a log are collected before they are sent.
	followPause = 200 * time.Millisecond

	// followLines and followBytes bound what is sent at once, and what of a log is in memory for each who follows it.
	followLines = 500
	followBytes = 64 << 10

	// followAhead is how many lines are read before they can be sent.
	followAhead = 16
)

// followedLine is a line of a log that is being followed. The bytes are those of the log.
type followedLine struct {
	view.LogLine
	bytes int
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
func readLines(r *request, log io.Reader, after int) <-chan followedLine {
	lines := make(chan followedLine, followAhead)
	go func() {
		defer close(lines)
		_ = eachLine(log, func(number int, text []byte) bool { // the browser asks again
			if number <= after {
				return true
			}
			select {
			case lines <- followedLine{view.LineOf(number, text), len(text)}:
				return true
			case <-r.Context().Done():
				return false
			}
		})
	}()
	return lines
}

func (u *UI) sendLines(s *eventStream, r *request, lines <-chan followedLine) error {
	pause := time.NewTicker(followPause)
	defer pause.Stop()
	var pending []followedLine
	bytes := 0
	for {
		select {
		case <-r.Context().Done():
			return nil
		case <-u.changes.closed:
			return nil
		case line, ok := <-lines:
			if ok {
				pending, bytes = append(pending, line), bytes+line.bytes
				if len(pending) < followLines && bytes < followBytes {
					continue
				}
			}
			if err := u.sendBatch(s, pending); err != nil || !ok {
				_ = s.send("end", nil)
				return nil
			}
			pending, bytes = nil, 0
		case <-pause.C:
			if !u.mayStillRead(r) {
				return nil
			}
			if err := u.sendBatch(s, pending); err != nil {
				return nil
			}
			pending, bytes = nil, 0
		}
	}
}

// sendBatch sends lines as HTML, with the number of the last as the event's id.
func (u *UI) sendBatch(s *eventStream, lines []followedLine) error {
	if len(lines) == 0 {
		if u.Clock.Since(s.last) < u.Limits.Heartbeat {
			return nil
		}
		return s.comment()
	}
	var html strings.Builder
	for _, line := range lines {
		if err := u.templates["run"].ExecuteTemplate(&html, "log-line", line.LogLine); err != nil {
			return err
		}
	}
	return s.sendWithID(strconv.Itoa(lines[len(lines)-1].Number), "lines", html.String())
}
