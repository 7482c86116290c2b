package run

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"

	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// Cancel ends a run.
func (u *Pages) Cancel(w http.ResponseWriter, r *site.Request) error {
	id, command, err := u.command(r)
	if err == nil {
		_, err = u.Actions.Cancel(r.Context(), command, id)
	}
	if err != nil {
		return refused(err)
	}
	u.Redirect(w, r, runPath(r.Namespace(), id))
	return nil
}

// Rerun starts a run again.
func (u *Pages) Rerun(w http.ResponseWriter, r *site.Request) error { return u.rerunRun(w, r, false) }

// RerunFailed starts the failed tests of a run again.
func (u *Pages) RerunFailed(w http.ResponseWriter, r *site.Request) error {
	return u.rerunRun(w, r, true)
}

func (u *Pages) rerunRun(w http.ResponseWriter, r *site.Request, onlyFailed bool) error {
	id, command, err := u.command(r)
	if err != nil {
		return err
	}
	command.OnlyFailed = onlyFailed
	next, _, err := u.Actions.Rerun(r.Context(), command, id)
	if err != nil {
		return refused(err)
	}
	r.Audit = append(r.Audit, "next", next.Name)
	u.Redirect(w, r, runPath(r.Namespace(), next.Name))
	return nil
}

func (u *Pages) command(r *site.Request) (id string, c dispatch.Command, err error) {
	if !r.SignedIn {
		return "", c, site.ErrSignIn
	}
	if !r.Act {
		return "", c, site.OnlyRead()
	}
	run, err := u.find(r)
	if err != nil {
		return "", c, err
	}
	if run.Archived() {
		return "", c, site.Unchanged("The Suite of this run was deleted, and the archive lacks the values of secret variables. " +
			"Deploy the commit again, and notify.")
	}
	r.Audit = []any{"suite", run.Suite.Name}
	team, err := index.Owner(r.Context(), u.Cache, r.Namespace())
	if err == nil && team == nil {
		err = site.Unchanged("the namespace of the run belongs to no Team any more")
	}
	return run.Suite.Name, dispatch.Command{Team: team, By: r.Access.Name, RequestID: "page." + rand.Text(), ReceivedAt: u.Steady.Now()}, err
}

// refused makes problem pages of errors that a retry would not change.
func refused(err error) error {
	e, ok := errors.AsType[*dispatch.Error](err)
	if !ok {
		return err
	}
	switch e.Kind {
	case dispatch.Rejected, dispatch.RunFinished, dispatch.RunUnfinished:
		return site.Unchanged(e.Message)
	default:
		return err
	}
}

func runPath(namespace, id string) string {
	return "/runs/" + url.PathEscape(namespace) + "/" + url.PathEscape(id)
}
