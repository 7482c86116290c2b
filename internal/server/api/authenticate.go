package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/report/greenlight"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// authFailures are by the status of the authenticator's error.
var authFailures = map[int]failure{
	http.StatusBadRequest: {code: "invalid_request", message: "The headers of the request contradict each other."},
	http.StatusUnauthorized: {code: "unauthenticated",
		message: "The API key is missing or not valid. Send it in one header, \"Authorization: Bearer <API key>\", " +
			"and check that it was not revoked."},
	http.StatusForbidden: {code: "forbidden",
		message: "The sender of this request may not do this. \"postflight whoami\" says what it may do."},
	http.StatusServiceUnavailable: {code: "unavailable",
		message: "API keys and tokens cannot be checked at the moment. Send the request again in a minute."},
}

func (a *API) authenticate(r *Request, action grant.Action) error {
	actions := []grant.Action{action}
	if action == anything {
		actions = grant.Actions
	}
	principal, err := a.Authenticate(r.Request, actions...)
	if errors.Is(err, auth.ErrTeamSuspended) {
		return &failure{code: "team_suspended", cause: err,
			message: "The team of this API key or token is suspended. Ask the operator of this service to enable it."}
	}
	if err != nil {
		return authFailure(err, authFailures)
	}
	r.Principal = principal
	return nil
}

// authorize refuses what the sender may not do, whatever it sends. What depends on the body is checked by the handler.
func (a *API) authorize(r *Request, action grant.Action) error {
	granted := r.Principal.Grant
	switch {
	case action == anything:
		return nil
	case !granted.Allows(action):
		return forbidden("You may not do this: it takes the right to %s, and you have %s. "+
			"Ask your team for more, or use an API key. \"postflight whoami\" says what you may do.", rights[action], rightsOf(granted))
	case len(granted.Runs) > 0:
		return a.checkRun(r)
	default:
		return nil
	}
}

// rights complete "the right to".
var rights = map[grant.Action]string{
	grant.Notify: "notify", grant.Upload: "upload", grant.Outcome: "read outcomes", grant.Read: "read", grant.Act: "cancel and repeat runs",
}

func rightsOf(g grant.Grant) string {
	if len(g.Actions) == 0 {
		return "none"
	}
	var all []string
	for _, action := range g.Actions {
		all = append(all, rights[action])
	}
	return "that to " + strings.Join(all, ", ")
}

func forbidden(format string, args ...any) error {
	return &failure{code: "forbidden", message: fmt.Sprintf(format, args...)}
}

// checkRun lets a sender that may read some runs read those that count in their place, too: later attempts, and newer deployments.
func (a *API) checkRun(r *Request) error {
	name := r.runName()
	if slices.Contains(r.Principal.Grant.Runs, name.Name) {
		return nil
	}
	for _, granted := range r.Principal.Grant.Runs {
		root, err := a.findSuite(r.Context(), types.NamespacedName{Namespace: name.Namespace, Name: granted})
		if errors.Is(err, runs.ErrNotFound) {
			continue // it is gone, and nothing counts in its place
		}
		if err != nil {
			return err
		}
		stream, err := a.Runs.Successors(r.Context(), root)
		if err != nil {
			return lookupFailure(err)
		}
		if greenlight.Relevant(root, stream).Name == name.Name {
			return nil
		}
	}
	return runNotFound(nil)
}

func authFailure(err error, failures map[int]failure) error {
	var named interface{ HTTPStatus() int }
	if !errors.As(err, &named) {
		return err
	}
	f, ok := failures[named.HTTPStatus()]
	if !ok {
		return err
	}
	if refused, ok := errors.AsType[interface {
		error
		Advice() string
	}](err); ok {
		f.message = cmp.Or(refused.Advice(), f.message)
	}
	if sender, ok := errors.AsType[interface {
		error
		Unclear() bool
	}](err); ok {
		f.stranger = sender.Unclear()
	}
	f.cause = err
	return &f
}

var podFailures = map[int]failure{
	http.StatusUnauthorized: {code: "unauthenticated",
		message: "Only pods of runs may send this request, with the token that Postflight gives their collector. API keys are for all other requests."},
	http.StatusServiceUnavailable: {code: "unavailable",
		message: "Tokens cannot be checked at the moment. Send the request again in a few seconds."},
}

var errNoRun = &failure{code: "run_not_found", message: "Run not found: this pod belongs to no run, or the run has ended."}

func (a *API) byPod(handle func(http.ResponseWriter, *Request) error) func(http.ResponseWriter, *Request) error {
	return func(w http.ResponseWriter, r *Request) error {
		pod, err := a.AuthenticatePod(r.Request)
		if err != nil {
			return authFailure(err, podFailures)
		}
		run, err := a.signer.Run(r.Context(), pod)
		if errors.Is(err, podfiles.ErrNoRun) {
			return errNoRun
		}
		if err != nil {
			return unavailable(err)
		}
		r.Principal.Team, r.pod = run.Team, run
		return a.answer(w, r, handle)
	}
}
