package overview

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/usecase/verdicts"
)

// AuthorizeBadge accepts readers of the pages of the team, and everybody if the Environment says so. For others, an Environment without a
// public badge looks like one that does not exist.
func (u *Pages) AuthorizeBadge(r *site.Request) error {
	refused := u.Authorize(r)
	if refused == nil {
		return nil
	}
	e, err := u.environment(r, r.PathValue("namespace"))
	if err != nil || e == nil || !e.Spec.PublicBadge {
		return errors.Join(err, refused)
	}
	team, err := index.Owner(r.Context(), u.Cache, e.Namespace)
	if err != nil || team == nil || team.Spec.Suspended {
		return errors.Join(err, refused)
	}
	r.Team = team
	return nil
}

// environment returns nil if there is none.
func (u *Pages) environment(r *site.Request, namespace string) (*v1alpha1.Environment, error) {
	e := &v1alpha1.Environment{}
	err := u.Cache.Get(r.Context(), client.ObjectKey{Namespace: namespace, Name: r.PathValue("id")}, e, client.UnsafeDisableDeepCopy)
	if apierror.NotFound(err) {
		return nil, nil
	}
	return e, err
}

// badgeFor is how long caches keep a public badge. Code hosts fetch the pictures of a README for all its readers.
const badgeFor = "60"

// Badge draws the verdict of a commit, or of what is deployed, as a small picture.
func (u *Pages) Badge(w http.ResponseWriter, r *site.Request) error {
	e, err := u.environment(r, r.Namespace())
	if err != nil {
		return err
	}
	if e == nil {
		return site.NotFound()
	}
	state, err := u.badgeState(r, e)
	if err != nil {
		return err
	}
	picture, h := environment.Badge(e.Name, state), w.Header()
	h.Set("Content-Type", "image/svg+xml")
	if e.Spec.PublicBadge || r.Team.Spec.PublicPages { // it does not depend on the reader, and other sites may show it
		h.Set("Cache-Control", "public, max-age="+badgeFor)
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		h.Del("Vary")
	}
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(picture))
	h.Set("ETag", tag)
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Length", strconv.Itoa(len(picture)))
	_, _ = w.Write(picture) // if it fails, the browser is gone
	return nil
}

// badgeState is the worst of the verdicts of what a badge is about. What is too long was never deployed.
func (u *Pages) badgeState(r *site.Request, e *v1alpha1.Environment) (verdict.State, error) {
	query := r.URL.Query()
	q := environment.BadgeQuery{SHA: query.Get("sha"), Repository: query.Get("repository"), Branch: query.Get("branch")}
	if len(q.SHA) > maxRevision || len(q.Repository) > maxRepository || e.Spec.Cluster != "" { // a verdict is given where it is
		return verdict.None, nil
	}
	runs, err := index.Suites(r.Context(), u.Cache, e.Namespace, index.Deployed, e.Name)
	if err != nil {
		return "", err
	}
	var states []verdict.State
	for _, c := range environment.BadgeCommits(e, runs, q) {
		v, err := u.Verdicts.Verdict(r.Context(), verdicts.Query{Namespace: e.Namespace, Environment: e.Name, Commit: c})
		if err != nil {
			return "", err
		}
		states = append(states, v.State)
	}
	return verdict.Worst(states...), nil
}
