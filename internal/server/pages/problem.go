package pages

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
)

type problem struct {
	Status      int
	Title, Text string
	cause       error // for the log of the operator, never for the reader
}

func (p *problem) Error() string {
	if p.cause != nil {
		return p.Title + ": " + p.cause.Error()
	}
	return p.Title
}

func (p *problem) Unwrap() error { return p.cause }

// notFound is the answer for what does not exist, or belongs to another team.
func notFound() error {
	return &problem{Status: http.StatusNotFound, Title: "There is nothing here",
		Text: "The page does not exist, its run was deleted, or it belongs to a team that you cannot see."}
}

func badRequest(text string) error {
	return &problem{Status: http.StatusBadRequest, Title: "That did not work", Text: text}
}

func overloaded() error {
	return &problem{Status: http.StatusServiceUnavailable, Title: "Too many people at once", Text: busy}
}

const busy = "The server is sending as many pages as it can. Try again in a few seconds."

func (u *UI) fail(w http.ResponseWriter, r *request, err error) {
	var p *problem
	if !errors.As(err, &p) {
		p = &problem{Status: http.StatusInternalServerError, Title: "Something went wrong here",
			Text: "Try again. If it happens again, tell the operator of this service the time and the address of this page.", cause: err}
	}
	log := logr.FromContextOrDiscard(r.Context()).WithValues("path", withoutGrant(u.public.Below(r.URL.Path)), "status", p.Status)
	switch {
	case p.cause == nil, p.Status == http.StatusNotFound, r.Context().Err() != nil: // the browser is gone
	case p.Status >= http.StatusInternalServerError:
		log.Error(p.cause, "a page failed")
	default:
		log.Info("a page was refused", "cause", p.cause.Error())
	}
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
		if r.Method == http.MethodGet && !isStream(r) {
			w.Header().Set("Refresh", "5") // as a live page would continue
		}
	}
	u.send(w, r, p.Status, &page{template: "problem", Title: p.Title, Data: p})
}

// withoutGrant returns a path for the log, with which nobody can open the file.
func withoutGrant(path string) string {
	rest, isFile := strings.CutPrefix(path, "/files/")
	if !isFile {
		return path
	}
	_, file, _ := strings.Cut(rest, "/")
	return "/files/***/" + file
}

// failPlainly is for when no page can be rendered. Unlike http.Error, it keeps all headers.
func failPlainly(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
