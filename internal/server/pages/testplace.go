package pages

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// maxTestLogs bounds the logs in which a test is looked for: a run has one for each of its pods.
const maxTestLogs = 8

// findTest leads to the place of a test in the log, or to a search for it if that cannot be told.
func (u *UI) findTest(w http.ResponseWriter, r *request) error {
	run, err := u.find(r)
	if err != nil {
		return err
	}
	page := runPath(r.namespace(), run.ID.ID) + "/log"
	logs, err := u.logsOf(r, run)
	if err != nil || len(logs) == 0 {
		u.redirect(w, r, page) // which says why
		return nil
	}
	if !u.reading.TryAcquire(r.namespace()) {
		return overloaded()
	}
	defer u.reading.Release(r.namespace())
	name := r.URL.Query().Get("name")
	for _, l := range logs[:min(len(logs), maxTestLogs)] {
		if line := u.placeOf(r, run, l, name); line > 0 {
			u.redirect(w, r, page+"?"+view.QueryAround(valueOf(l), line).Encode()+"#L"+strconv.Itoa(line))
			return nil
		}
	}
	u.redirect(w, r, page+"?"+url.Values{"q": {view.TestPlaceOf(name).Text()}}.Encode())
	return nil
}

// placeOf is the number of a line; 0 if the log does not have the test, or cannot be read.
func (u *UI) placeOf(r *request, run *runs.Run, l runs.Log, name string) int {
	if l.Lost != "" {
		return 0
	}
	log, err := u.Runs.OpenLog(r.Context(), run, l, runs.AllLines)
	if err != nil {
		return 0
	}
	defer log.Close()
	place := view.TestPlaceOf(name)
	err = view.EachLine(log, func(number int, line []byte) bool {
		place.Look(number, line)
		return true
	})
	if err != nil {
		return 0
	}
	return place.Line
}
