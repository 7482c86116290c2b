package pages

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

func (u *UI) cancel(w http.ResponseWriter, r *request) error {
	id, command, err := u.command(r)
	if err == nil {
		_, err = u.Actions.Cancel(r.Context(), command, id)
	}
	if err != nil {
		return refused(err)
	}
	u.redirect(w, r, runPath(r.namespace(), id))
	return nil
}

func (u *UI) rerun(w http.ResponseWriter, r *request) error { return u.startAgain(w, r, false) }

func (u *UI) rerunFailed(w http.ResponseWriter, r *request) error { return u.startAgain(w, r, true) }

func (u *UI) startAgain(w http.ResponseWriter, r *request, onlyFailed bool) error {
	id, command, err := u.command(r)
	if err != nil {
		return err
	}
	command.OnlyFailed = onlyFailed
	next, _, err := u.Actions.Rerun(r.Context(), command, id)
	if err != nil {
		return refused(err)
	}
	r.audit = append(r.audit, "next", next.Name)
	u.redirect(w, r, runPath(r.namespace(), next.Name))
	return nil
}

func (u *UI) command(r *request) (id string, c dispatch.Command, err error) {
	if !r.signedIn {
		return "", c, errSignIn
	}
	if !r.act {
		return "", c, &problem{Status: http.StatusForbidden, Title: "You can only read here",
			Text: "An API key only reads unless the Team sets keysMayAct, and a group unless the operator of this service lets it act. Nothing was changed."}
	}
	run, err := u.find(r)
	if err != nil {
		return "", c, err
	}
	if run.Archived() {
		return "", c, unchanged("The Suite of this run was deleted, and the archive lacks the values of secret variables. Deploy the commit again, and notify.")
	}
	r.audit = []any{"suite", run.Suite.Name}
	team, err := index.Owner(r.Context(), u.Cache, r.namespace())
	if err == nil && team == nil {
		err = unchanged("the namespace of the run belongs to no Team any more")
	}
	return run.Suite.Name, dispatch.Command{Team: team, By: r.access.Name, RequestID: "page." + rand.Text(), ReceivedAt: u.Steady.Now()}, err
}

func unchanged(why string) error {
	return &problem{Status: http.StatusConflict, Title: "Nothing was changed", Text: why}
}

// refused makes problem pages of errors that a repetition would not change.
func refused(err error) error {
	e, ok := errors.AsType[*dispatch.Error](err)
	if !ok {
		return err
	}
	switch e.Kind {
	case dispatch.Rejected, dispatch.RunFinished, dispatch.RunUnfinished:
		return unchanged(e.Message)
	default:
		return err
	}
}

func runPath(namespace, id string) string {
	return "/runs/" + url.PathEscape(namespace) + "/" + url.PathEscape(id)
}

// localPath keeps a path of this server, and replaces anything else by that of the runs.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(next, "/") || strings.ContainsAny(next, "\\\r\n\t") ||
		strings.HasPrefix(next, "//") || path.Clean(u.Path) != u.Path {
		return "/runs"
	}
	return next
}
