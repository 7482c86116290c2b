package auth

import (
	"fmt"
	"net/http"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Error says why a request was refused, with the HTTP status for the client.
type Error struct {
	status int
	text   string
	advice string
	cause  error

	unclear bool
}

var (
	// ErrUnauthenticated is the answer to every unknown key and wrong pod token, so that it does not reveal which exist.
	ErrUnauthenticated = &Error{status: http.StatusUnauthorized, text: "missing or invalid API key or token"}
	// ErrTeamSuspended is the answer to a good key of a suspended team.
	ErrTeamSuspended = &Error{status: http.StatusForbidden, text: "the team is suspended"}

	errTwoTeams = &Error{status: http.StatusBadRequest, text: "several headers name a team",
		advice: "The request has several headers \"" + teamHeader + "\". Send one, with the name of one Team."}

	errWaitTokenExpired = &Error{status: http.StatusUnauthorized, text: "the wait token has expired",
		advice: "The wait token has expired. Send the notification again: it is answered with the same runs, and another token."}
)

// refusal tells the sender of a known key what to do. Only someone who has the key itself learns it, and of the namespace only what the
// key says.
func refusal(namespace string, k *v1alpha1.APIKey, verdict apikey.Verdict, now time.Time) *Error {
	e := *ErrUnauthenticated
	owned := "of this API key"
	if namespace != "" {
		owned = namespace
	}
	switch verdict {
	case apikey.Expired:
		e.text = "the API key has expired"
		e.advice = fmt.Sprintf("The API key expired %s. Create another one with \"postflight keys create\", and send that.",
			plaintext.Ago(k.Spec.ExpiresAt.Time, now))
	case apikey.Suspended:
		e.text = "the API key is suspended"
		e.advice = "The API key is suspended. Ask for another one where your team manages its keys."
	case apikey.NamespaceClaimedTwice:
		e.text = "two Teams claim the namespace of the API key"
		e.advice = fmt.Sprintf("Two Teams claim the namespace %s, so its API keys are refused. "+
			"Ask your operator: one of the Teams must give it up.", owned)
	case apikey.NoTeam:
		e.text = "no Team owns the namespace of the API key"
		e.advice = fmt.Sprintf("No Team owns the namespace %s, so its API keys are refused. Ask your operator for a Team.", owned)
	case apikey.UsedTwice:
		e.text = "two Teams have the API key"
		e.advice = "Another Team has the same API key, so it is refused for both. " +
			"Create another one with \"postflight keys create\", and send that."
	default:
		return ErrUnauthenticated
	}
	return &e
}

// keyOfAnotherTeam tells the holder of a good key whose it is, as "postflight whoami" does, and not whether the named Team exists.
func keyOfAnotherTeam(h Holder, named string) *Error {
	return Forbidden("the API key is of another Team than the request names", fmt.Sprintf("The key %s/%s is of the Team %s, but the request "+
		"names %q (header %s, $POSTFLIGHT_TEAM). Unset that, which a key does not need, or send a key of the Team that you mean.",
		h.Key.Namespace, h.Key.Name, h.Team.Name, plaintext.Line(named, maxShownTeam), teamHeader))
}

// Refused is the answer to a token that is not good, with advice for someone who has a good one, or "".
func Refused(text, advice string) *Error {
	return &Error{status: http.StatusUnauthorized, text: text, advice: advice}
}

// Forbidden is the answer to a good token whose holder may not do what it is sent for.
func Forbidden(text, advice string) *Error {
	return &Error{status: http.StatusForbidden, text: text, advice: advice}
}

// Unavailable is the answer if a key or token cannot be checked.
func Unavailable(cause error) *Error {
	return &Error{status: http.StatusServiceUnavailable, text: "API keys and tokens cannot be checked", cause: cause}
}

// Unclear is the answer to a token whose key may be newer than those that are known. Anybody can send such a token.
func Unclear(cause error) *Error {
	e := Unavailable(cause)
	e.unclear = true
	return e
}

func (e *Error) Error() string {
	if e.cause != nil {
		return e.text + ": " + e.cause.Error()
	}
	return e.text
}

func (e *Error) Unwrap() error { return e.cause }

// Advice returns sentences for the sender, or "".
func (e *Error) Advice() string { return e.advice }

// HTTPStatus returns 400, 401, 403 or 503.
func (e *Error) HTTPStatus() int { return e.status }

// Unclear reports whether the token names a key that is not among those that can be used, which anybody can cause. Its sender should try
// again. If newer keys cannot be read, package keyset tells the log.
func (e *Error) Unclear() bool { return e.unclear }
