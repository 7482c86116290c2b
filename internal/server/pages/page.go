package pages

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/server/compress"
	"github.com/postflight-dev/postflight/internal/server/signin"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

type page struct {
	template    string
	Title       string // of the document
	Description string // for those who paste its link somewhere
	Section     string // of the navigation
	Icon        string // the key of a state; empty for Postflight's own
	Live        bool   // it changes while it is open
	Wide        bool
	Data        any
}

type pageKind struct {
	build  func(*request) (*page, error)
	shared bool // it is the same for all readers of a team who have the same rights
}

type document struct {
	*page
	Namespace string
	Team      string
	Name      string // of the reader
	SignedIn  bool
	Teams     []signin.TeamAccess
	Act       bool
	URL       string // of the page, if people's address of this server is known
	Refresh   string
}

func (u *UI) document(r *request, p *page) document {
	d := document{page: p, Namespace: r.namespace(), Name: r.access.Name, SignedIn: r.signedIn, Teams: r.access.Teams, Act: r.act}
	if r.team != nil {
		d.Team = r.team.Name
	}
	if u.public.Origin != "" {
		d.URL = publicurl.Join(u.PublicURL, r.URL.EscapedPath())
	}
	return d
}

func (u *UI) serve(kind pageKind) func(http.ResponseWriter, *request) error {
	return func(w http.ResponseWriter, r *request) error {
		if isStream(r) {
			return u.stream(w, r, kind)
		}
		p, err := kind.build(r)
		if err != nil {
			return err
		}
		u.send(w, r, http.StatusOK, p)
		return nil
	}
}

// render executes "layout" for the whole document, or "main" for the part that changes.
func (u *UI) render(out *bytes.Buffer, r *request, p *page, part string) error {
	return u.templates[p.template].ExecuteTemplate(out, part, u.document(r, p))
}

// send writes a page. Templates are tested with every kind of data, so an error is a defect.
func (u *UI) send(w http.ResponseWriter, r *request, status int, p *page) {
	var out bytes.Buffer
	if err := u.render(&out, r, p, "layout"); err != nil {
		u.Log.Error(err, "a page cannot be rendered", "template", p.template)
		failPlainly(w, http.StatusInternalServerError, "This page cannot be shown.")
		return
	}
	w.Header().Add("Vary", "Accept-Encoding")
	body := out.Bytes()
	if compress.Accepts(r.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		body = compress.Bytes(body)
	}
	if !u.unsent.TryAcquireN(r.namespace(), len(body)) {
		w.Header().Del("Content-Encoding")
		w.Header().Set("Refresh", "5")
		failPlainly(w, http.StatusServiceUnavailable, busy)
		return
	}
	defer u.unsent.ReleaseN(r.namespace(), len(body))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // if it fails, the browser is gone
}

// next returns the query of the next page of a list.
func next(f view.Filter, last record.Run) string {
	q := f.Query()
	q.Set("after", runs.Cursor(last))
	return "?" + q.Encode()
}
