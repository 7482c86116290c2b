package site

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
	"github.com/postflight-dev/postflight/internal/server/compress"
	"github.com/postflight-dev/postflight/internal/server/signin"
)

// Page is what a template shows.
type Page struct {
	Template    string
	Title       string // of the document
	Description string // for those who paste its link somewhere
	Section     string // of the navigation
	Icon        string // the key of a state; empty for Postflight's own
	Live        bool   // it changes while it is open
	Wide        bool
	Data        any
}

// Kind is a page of a route.
type Kind struct {
	Build  func(*Request) (*Page, error)
	Shared bool // all readers of a team with the same rights see the same
}

type document struct {
	*Page
	Namespace string
	Team      string
	Name      string // of the reader
	SignedIn  bool
	Teams     []signin.TeamAccess
	Act       bool
	URL       string // of the page, if people's address of this server is known
	Refresh   string
}

func (s *Site) document(r *Request, p *Page) document {
	d := document{Page: p, Namespace: r.Namespace(), Name: r.Access.Name, SignedIn: r.SignedIn, Teams: r.Access.Teams, Act: r.Act}
	if r.Team != nil {
		d.Team = r.Team.Name
	}
	if s.Public.Origin != "" {
		d.URL = publicurl.Join(s.PublicURL, r.URL.EscapedPath())
	}
	return d
}

// Serve answers with a page, or with its versions as they change.
func (s *Site) Serve(kind Kind) func(http.ResponseWriter, *Request) error {
	return func(w http.ResponseWriter, r *Request) error {
		if isStream(r) {
			return s.stream(w, r, kind)
		}
		p, err := kind.Build(r)
		if err != nil {
			return err
		}
		s.Send(w, r, http.StatusOK, p)
		return nil
	}
}

// render executes "layout" for the whole document, or "main" for the part that changes.
func (s *Site) render(out *bytes.Buffer, r *Request, p *Page, part string) error {
	return s.Templates[p.Template].ExecuteTemplate(out, part, s.document(r, p))
}

// documents are reused, because a page would grow one several times.
var documents = sync.Pool{New: func() any { return &bytes.Buffer{} }}

// maxDocument is larger than most pages. A buffer of the largest page is not kept for the others.
const maxDocument = 256 << 10

// Send writes a page. Templates are tested with every kind of data, so an error is a defect.
func (s *Site) Send(w http.ResponseWriter, r *Request, status int, p *Page) {
	out := documents.Get().(*bytes.Buffer)
	defer func() {
		if out.Cap() <= maxDocument {
			documents.Put(out)
		}
	}()
	out.Reset()
	if err := s.render(out, r, p, "layout"); err != nil {
		s.Log.Error(err, "a page cannot be rendered", "template", p.Template)
		FailPlainly(w, http.StatusInternalServerError, "This page cannot be shown.")
		return
	}
	w.Header().Add("Vary", "Accept-Encoding")
	body := out.Bytes()
	if compress.Accepts(r.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		body = compress.Bytes(body)
	}
	if !s.unsent.TryAcquireN(r.Namespace(), len(body)) {
		w.Header().Del("Content-Encoding")
		w.Header().Set("Refresh", "5")
		FailPlainly(w, http.StatusServiceUnavailable, busy)
		return
	}
	defer s.unsent.ReleaseN(r.Namespace(), len(body))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // if it fails, the browser is gone
}

// Path joins segments, which it escapes, and fixed parts, which start with a slash.
func (s *Site) Path(parts ...string) string {
	var p strings.Builder
	p.WriteString(s.Public.Base)
	for _, part := range parts {
		if fixed, ok := strings.CutPrefix(part, "/"); ok {
			p.WriteString("/" + fixed)
			continue
		}
		p.WriteString("/" + url.PathEscape(part))
	}
	return p.String()
}
