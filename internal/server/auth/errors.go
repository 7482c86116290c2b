package auth

import "net/http"

// Error is why a request was refused, with the HTTP status for the client.
type Error struct {
	status int
	text   string
	cause  error
}

var (
	// ErrUnauthenticated is the answer to every wrong key (missing, malformed, unknown, expired, suspended, ambiguous,
	// or of a namespace without a team), and to every wrong token of a pod.
	ErrUnauthenticated = &Error{status: http.StatusUnauthorized, text: "missing or invalid API key or token"}

	// ErrTeamSuspended is the answer to a good key of a suspended team.
	ErrTeamSuspended = &Error{status: http.StatusForbidden, text: "the team is suspended"}
)

// unavailable means that the key or token cannot be checked at the moment.
func unavailable(cause error) *Error {
	return &Error{status: http.StatusServiceUnavailable, text: "API keys and tokens cannot be checked", cause: cause}
}

func (e *Error) Error() string {
	if e.cause != nil {
		return e.text + ": " + e.cause.Error()
	}
	return e.text
}

func (e *Error) Unwrap() error { return e.cause }

// HTTPStatus is 401, 403 or 503.
func (e *Error) HTTPStatus() int { return e.status }
