package pages

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func (u *UI) cancel(w http.ResponseWriter, r *request) error {
	s, err := u.subject(r)
	if err == nil {
		r.audit = []any{"suite", s.Name}
		err = u.Actions.Cancel(r.Context(), s, r.access.Name)
	}
	if err != nil {
		return refused(err)
	}
	u.redirect(w, r, runPath(s.Namespace, s.Name))
	return nil
}

func (u *UI) rerun(w http.ResponseWriter, r *request) error {
	s, err := u.subject(r)
	if err != nil {
		return err
	}
	r.audit = []any{"suite", s.Name}
	id, err := u.Actions.Rerun(r.Context(), s, r.access.Name)
	if err != nil {
		return refused(err)
	}
	r.audit = append(r.audit, "next", id)
	u.redirect(w, r, runPath(s.Namespace, id))
	return nil
}

// subject is the run to act on, for those who may.
func (u *UI) subject(r *request) (*v1alpha1.Suite, error) {
	if !r.signedIn {
		return nil, errSignIn
	}
	if !r.act {
		return nil, &problem{Status: http.StatusForbidden, Title: "You can only read here",
			Text: "An API key only reads unless the Team sets keysMayAct, and a group unless the operator of this service lets it act. Nothing was changed."}
	}
	run, err := u.find(r)
	if err != nil {
		return nil, err
	}
	if run.Archived() {
		return nil, refused(archivedRun{})
	}
	return u.withVariables(r, run)
}

// archivedRun is the reason why nothing can be done with a run that is only in the archive.
type archivedRun struct{}

func (archivedRun) Error() string { return "the run is archived" }
func (archivedRun) Refused() string {
	return "The Suite of this run was deleted, and the archive lacks the values of secret variables. Deploy the commit again, and notify."
}

func refused(err error) error {
	var r interface{ Refused() string }
	if errors.As(err, &r) {
		return &problem{Status: http.StatusConflict, Title: "Nothing was changed", Text: r.Refused()}
	}
	return err
}

func runPath(namespace, id string) string {
	return "/runs/" + url.PathEscape(namespace) + "/" + url.PathEscape(id)
}

// localPath is a path of this server, below its base path, to go on to; anything else leads to the runs.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(next, "/") || strings.ContainsAny(next, "\\\r\n\t") ||
		strings.HasPrefix(next, "//") || path.Clean(u.Path) != u.Path {
		return "/runs"
	}
	return next
}
