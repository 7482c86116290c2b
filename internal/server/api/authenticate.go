package api

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
)

// authFailures are by the status of the authenticator's error.
var authFailures = map[int]failure{
	http.StatusUnauthorized: {code: "unauthenticated",
		message: "The API key is missing or not valid. Send it in one header, \"Authorization: Bearer <API key>\", " +
			"and check that it was not revoked."},
	http.StatusForbidden: {code: "team_suspended",
		message: "The team of this API key is suspended. Ask the operator of this service to enable it."},
	http.StatusServiceUnavailable: {code: "unavailable",
		message: "API keys cannot be checked at the moment. Send the request again in a minute."},
}

func (a *API) authenticate(r *Request) error {
	principal, err := a.Authenticate(r.Request)
	if err != nil {
		return authFailure(err, authFailures)
	}
	r.Principal = principal
	return nil
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
