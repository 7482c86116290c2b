package api

import (
	"net/url"

	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// logQuery says which logs to read, and how much of them.
type logQuery struct {
	runs.LogQuery
	follow bool
	tail   int // lines; negative: all
}

func logQueryOf(u *url.URL) (q logQuery, err error) {
	p, err := parametersOf(u.RawQuery, "pod", "container", "previous", "tail", "follow")
	if err != nil {
		return q, err
	}
	q.Pod, q.Container = p["pod"], p["container"]
	if q.Previous, err = p.boolean("previous"); err != nil {
		return q, err
	}
	if q.follow, err = p.boolean("follow"); err != nil {
		return q, err
	}
	q.follow = q.follow && !q.Previous // which has ended
	q.tail, err = p.number("tail", 0, maxTail, runs.AllLines)
	return q, err
}
