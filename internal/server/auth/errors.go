package auth

import "net/http"

// Error says why a request was refused, with the HTTP status for the client.
type Error struct {
	status int
	text   string
	cause  error
}

var (
	// ErrUnauthenticated is the answer to every wrong key and pod token, so that it does not reveal which keys exist.
	ErrUnauthenticated = &Error{status: http.StatusUnauthorized, text: "missing or invalid API key or token"}
	// ErrTeamSuspended is the answer to a good key of a suspended team.
	ErrTeamSuspended = &Error{status: http.StatusForbidden, text: "the team is suspended"}
)

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

// HTTPStatus returns 401, 403 or 503.
func (e *Error) HTTPStatus() int { return e.status }
