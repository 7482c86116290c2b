package api

import (
	"errors"
	"net/http"
)

// authFailures are the answers by the status that the authenticator's error names.
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
	f.cause = err
	return &f
}
