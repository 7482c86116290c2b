package run

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/core/view/logtext"
	"github.com/postflight-dev/postflight/internal/server/compress"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// maxTestLogs bounds the logs that are searched for a test. A run has one per pod.
const maxTestLogs = 8

type logData struct {
	logtext.Part
	Names   []logName
	Name    string // of the log that is shown
	Search  string
	Running bool // the log may grow
	Problem string
}

type logName struct {
	Value, Label string
	Current      bool
}

// LogPage shows a part of a log.
func (u *Pages) LogPage(r *site.Request) (*site.Page, error) {
	d, run, err := u.run(r, "log")
	if err != nil {
		return nil, err
	}
	if d.Log, err = u.readLog(r, run); err != nil {
		return nil, err
	}
	return d.page(), nil
}

// readLog returns nil if there are no logs. 16 MiB take a tenth of a second, so a live page reads its log once.
func (u *Pages) readLog(r *site.Request, run *runs.Run) (*logData, error) {
	if sent, ok := r.Sent.(*logData); ok {
		return sent, nil
	}
	chosen, d := u.chooseLog(r, run)
	if d == nil || d.Problem != "" {
		return d, nil
	}
	if !u.Reading.TryAcquire(r.Namespace()) {
		d.Problem = "Too many people read logs right now. Reload the page in a few seconds."
		return d, nil
	}
	defer u.Reading.Release(r.Namespace())
	log, err := u.Runs.OpenLog(r.Context(), run, chosen, runs.AllLines)
	if err != nil {
		d.Problem = u.logProblem(err, run)
		return d, nil
	}
	defer log.Close()
	query := r.URL.Query()
	if d.Search = logtext.SearchText(query.Get("q")); d.Search != "" {
		err = d.Part.Search(log, d.Search, d.Name)
	} else {
		from, _ := strconv.Atoi(query.Get("from"))
		before, _ := strconv.Atoi(query.Get("before"))
		err = d.Read(log, from, before)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		d.Problem = u.logProblem(err, run)
		return d, nil
	}
	r.Read = &logData{Names: d.Names, Name: d.Name}
	return d, nil
}

// logProblem returns a sentence for the reader, and logs the error for the operator.
func (u *Pages) logProblem(err error, run *runs.Run) string {
	switch {
	case errors.Is(err, apierror.ErrNotStarted):
		return "The container has not started."
	case errors.Is(err, apierror.ErrLogGone), errors.Is(err, fs.ErrNotExist):
		return "This log is gone, because its container, pod or node is, and the archive does not have it."
	}
	u.Log.Error(err, "a log cannot be read", "run", run.ID.ID)
	return "This log cannot be read at the moment. Reload the page in a minute."
}

// logsOf returns the logs of a run, with the logs of its tests first.
func (u *Pages) logsOf(r *site.Request, run *runs.Run) ([]runs.Log, error) {
	logs, err := u.Runs.Logs(r.Context(), run, runs.LogQuery{All: true})
	slices.SortStableFunc(logs, func(a, b runs.Log) int {
		switch {
		case a.OfTests == b.OfTests:
			return 0
		case a.OfTests:
			return -1
		default:
			return 1
		}
	})
	return logs, err
}

// chooseLog finds the log of the query, or the first. The data is nil if there are none.
func (u *Pages) chooseLog(r *site.Request, run *runs.Run) (runs.Log, *logData) {
	logs, err := u.logsOf(r, run)
	if err != nil {
		return runs.Log{}, &logData{Problem: u.logProblem(err, run)}
	}
	if len(logs) == 0 {
		return runs.Log{}, nil
	}
	chosen := logs[0]
	for _, l := range logs {
		if valueOf(l) == r.URL.Query().Get("log") {
			chosen = l
		}
	}
	d := &logData{Running: !run.Suite.Finished() && chosen.Live, Name: valueOf(chosen), Problem: chosen.Lost}
	for _, l := range logs {
		d.Names = append(d.Names, logName{Value: valueOf(l), Label: labelOf(l), Current: l.Is(chosen)})
	}
	return chosen, d
}

func valueOf(l runs.Log) string {
	if l.Previous {
		return l.String() + "/previous"
	}
	return l.String()
}

func labelOf(l runs.Log) string {
	if l.Previous {
		return l.Container + " before its restart, in " + l.Pod
	}
	return l.Container + " in " + l.Pod
}

// DownloadLog sends a whole log.
func (u *Pages) DownloadLog(w http.ResponseWriter, r *site.Request) error {
	run, chosen, err := u.pickLog(r)
	if err != nil {
		return err
	}
	log, err := u.Runs.OpenLog(r.Context(), run, chosen, runs.AllLines)
	if err != nil {
		return logUnavailable(u.logProblem(err, run))
	}
	defer log.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+run.ID.ID+"-"+chosen.Container+`.log"`)
	compress.Copy(u.patient(w), r.Request, log)
	return nil
}

func (u *Pages) pickLog(r *site.Request) (*runs.Run, runs.Log, error) {
	run, err := u.find(r)
	if err != nil {
		return nil, runs.Log{}, err
	}
	chosen, d := u.chooseLog(r, run)
	if want := r.URL.Query().Get("log"); d == nil || want != "" && d.Problem == "" && d.Name != want {
		return nil, chosen, site.NotFound() // the lines of another log are no continuation
	}
	if d.Problem != "" {
		return nil, chosen, logUnavailable(d.Problem)
	}
	return run, chosen, nil
}

func logUnavailable(text string) error {
	return &site.Problem{Status: http.StatusServiceUnavailable, Title: "There is no log to read", Text: text}
}

// FindTest redirects to the line of a test, or to a search for it.
func (u *Pages) FindTest(w http.ResponseWriter, r *site.Request) error {
	run, err := u.find(r)
	if err != nil {
		return err
	}
	page := runPath(r.Namespace(), run.ID.ID) + "/log"
	logs, err := u.logsOf(r, run)
	if err != nil || len(logs) == 0 {
		u.Redirect(w, r, page) // which says why
		return nil
	}
	if !u.Reading.TryAcquire(r.Namespace()) {
		return site.Overloaded()
	}
	defer u.Reading.Release(r.Namespace())
	name := r.URL.Query().Get("name")
	for _, l := range logs[:min(len(logs), maxTestLogs)] {
		if line := u.placeOf(r, run, l, name); line > 0 {
			u.Redirect(w, r, page+"?"+logtext.QueryAround(valueOf(l), line).Encode()+"#L"+strconv.Itoa(line))
			return nil
		}
	}
	u.Redirect(w, r, page+"?"+url.Values{"q": {logtext.TestPlaceOf(name).Text()}}.Encode())
	return nil
}

// placeOf returns 0 if the log lacks the test, or cannot be read.
func (u *Pages) placeOf(r *site.Request, run *runs.Run, l runs.Log, name string) int {
	if l.Lost != "" {
		return 0
	}
	log, err := u.Runs.OpenLog(r.Context(), run, l, runs.AllLines)
	if err != nil {
		return 0
	}
	defer log.Close()
	place := logtext.TestPlaceOf(name)
	err = logtext.EachLine(log, func(number int, line []byte) bool {
		place.Look(number, line)
		return true
	})
	if err != nil {
		return 0
	}
	return place.Line
}
