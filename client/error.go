package client

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Error is a request that failed.
type Error struct {
	Status     int           // of HTTP; 0 if there was no answer
	Problem    *Problem      // the server's explanation; nil if something other than Postflight answered
	RetryAfter time.Duration // how long the server asks to wait; 0 if it does not

	text  string
	hint  string // what the source of a refused token knows about it
	cause error
	store bool // the object store answered, and not Postflight
}

// Error says what failed and what to do.
func (e *Error) Error() string {
	if e.Problem == nil {
		return e.text
	}
	message := e.Problem.FailureMessage
	if e.Problem.Field != "" {
		message += fmt.Sprintf(" (field %s)", e.Problem.Field)
	}
	if e.hint != "" {
		message += " " + e.hint
	}
	return fmt.Sprintf("%s [%d %s, eventId %s]", message, e.Status, e.Problem.FailureCode, e.Problem.EventID)
}

// Unwrap is the error of the network, if there was no answer.
func (e *Error) Unwrap() error { return e.cause }

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool {
	switch e.Status {
	case 0:
		return !untrusted(e.cause) && !withoutTLS(e.cause) // these stay until a person fixes them
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusInternalServerError:
		return e.store // which may use it for what passes, as S3 does
	default:
		return false
	}
}

// unreachable is the error of a request without an answer. It leaves out the URL, which may be long.
func unreachable(err error) error {
	cause, host := err, ""
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		cause = wrapped.Err
		if u, err := url.Parse(wrapped.URL); err == nil {
			host = " at " + u.Scheme + "://" + u.Host
		}
	}
	text := "The server%s cannot be reached (%v). Check POSTFLIGHT_URL, and that this machine may connect to it."
	switch {
	case untrusted(err):
		text = "The certificate of the server%s is not trusted (%v). Check POSTFLIGHT_URL and the clock; " +
			"SSL_CERT_FILE names a file with the authorities that this machine trusts."
	case withoutTLS(err):
		text = "The server%s does not speak TLS (%v). Check POSTFLIGHT_URL: it may have to start with http://, or have another port."
	}
	return &Error{cause: err, text: fmt.Sprintf(text, host, cause)}
}

func untrusted(err error) bool {
	var verification *tls.CertificateVerificationError
	return errors.As(err, &verification)
}

func withoutTLS(err error) bool {
	var header tls.RecordHeaderError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &header)
}

// problemOf is the error of an answer other than the expected one.
func problemOf(r *http.Response, body []byte) error {
	e := &Error{Status: r.StatusCode}
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	problem := &Problem{}
	if isMediaType(r, "application/problem+json") && json.Unmarshal(body, problem) == nil && problem.FailureCode != "" {
		e.Problem = problem
		return e
	}
	e.text = fmt.Sprintf("Something that is not Postflight answered %s at %s. "+
		"Check POSTFLIGHT_URL: it has to be the base URL of the server, without a path.",
		r.Status, r.Request.URL.Redacted())
	return e
}

func isMediaType(r *http.Response, mediaType string) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), mediaType)
}
