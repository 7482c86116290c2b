package site

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
)

// Problem is an error that the reader is told.
type Problem struct {
	Status      int
	Title, Text string
	Cause       error // for the log of the operator, never for the reader
}

func (p *Problem) Error() string {
	if p.Cause != nil {
		return p.Title + ": " + p.Cause.Error()
	}
	return p.Title
}

func (p *Problem) Unwrap() error { return p.Cause }

// NotFound is the answer for what does not exist, or belongs to another team.
func NotFound() error {
	return &Problem{Status: http.StatusNotFound, Title: "There is nothing here",
		Text: "The page does not exist, its run was deleted, or it belongs to a team that you cannot see."}
}

// BadRequest is the answer to input that makes no sense.
func BadRequest(text string) error {
	return &Problem{Status: http.StatusBadRequest, Title: "That did not work", Text: text}
}

// OnlyRead is the answer to an action of people who may only read.
func OnlyRead() error {
	return &Problem{Status: http.StatusForbidden, Title: "You can only read here",
		Text: "An API key only reads unless the Team sets keysMayAct, and a group unless the operator of this service lets it act. Nothing " +
			"was changed."}
}

// Unchanged is the answer to an action that is not possible, with a sentence why.
func Unchanged(why string) error {
	return &Problem{Status: http.StatusConflict, Title: "Nothing was changed", Text: why}
}

// Overloaded is the answer if the limits are reached.
func Overloaded() error {
	return &Problem{Status: http.StatusServiceUnavailable, Title: "Too many people at once", Text: busy}
}

const busy = "The server is sending as many pages as it can. Try again in a few seconds."

// Fail answers with the error.
func (s *Site) Fail(w http.ResponseWriter, r *Request, err error) {
	var p *Problem
	if !errors.As(err, &p) {
		p = &Problem{Status: http.StatusInternalServerError, Title: "Something went wrong here",
			Text: "Try again. If it happens again, tell the operator of this service the time and the address of this page.", Cause: err}
	}
	log := logr.FromContextOrDiscard(r.Context()).WithValues("path", withoutGrant(s.Public.Below(r.URL.Path)), "status", p.Status)
	switch {
	case p.Cause == nil, p.Status == http.StatusNotFound, r.Context().Err() != nil: // the browser is gone
	case p.Status >= http.StatusInternalServerError:
		log.Error(p.Cause, "a page failed")
	default:
		log.Info("a page was refused", "cause", p.Cause.Error())
	}
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
		if r.Method == http.MethodGet && !isStream(r) {
			w.Header().Set("Refresh", "5") // as a live page would continue
		}
	}
	if r.Team == nil && len(r.Access.Teams) > 0 { // the navigation leads to a team of the reader
		r.Team = r.Access.Teams[0].Team
	}
	s.Send(w, r, p.Status, &Page{Template: "problem", Title: p.Title, Data: p})
}

// withoutGrant removes from a path for the log what opens the file.
func withoutGrant(path string) string {
	rest, isFile := strings.CutPrefix(path, "/files/")
	if !isFile {
		return path
	}
	_, file, _ := strings.Cut(rest, "/")
	return "/files/***/" + file
}

// FailPlainly is for when no page can be rendered. Unlike http.Error, it keeps all headers.
func FailPlainly(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
