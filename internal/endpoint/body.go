package endpoint

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"time"
)

// readBody reads a JSON body within the limits, into no more memory than it needs.
func (a *API) readBody(w http.ResponseWriter, r *Request) ([]byte, error) {
	// Not every ResponseWriter has a connection; the server's ReadTimeout holds in any case.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(a.Limits.BodyTimeout))
	var body []byte
	var err error
	if r.ContentLength >= 0 {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
	} else {
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, a.Limits.BodyBytes))
	}
	if err != nil {
		return nil, a.unreadable(err)
	}
	return body, nil
}

// admit refuses a body by its headers, and bounds what needs much memory: it is among few until it is
// answered.
func (a *API) admit(r *Request, dryRun bool) error {
	if err := checkContent(r.Header); err != nil {
		return err
	}
	if r.ContentLength > a.Limits.BodyBytes {
		return a.tooLarge()
	}
	large := dryRun || r.ContentLength < 0 || r.ContentLength > a.Limits.SmallBodyBytes
	if large && !r.enter(a.large) {
		return &failure{code: "overloaded", message: fmt.Sprintf("The server is answering as many dry runs and notifications of more than %d bytes (or of unknown length) as it can, "+
			"or as many of this team as leave room for others. Send the request again in a few seconds.", a.Limits.SmallBodyBytes)}
	}
	return nil
}

func checkContent(h http.Header) error {
	types := h.Values("Content-Type")
	if len(types) != 1 {
		return notJSON("Send exactly one header \"Content-Type: application/json\".")
	}
	if media, _, err := mime.ParseMediaType(types[0]); err != nil || media != "application/json" {
		return notJSON("Send the body as JSON, with the header \"Content-Type: application/json\".")
	}
	if h.Get("Content-Encoding") != "" && h.Get("Content-Encoding") != "identity" {
		return notJSON("Send the body as it is, without a Content-Encoding.")
	}
	return nil
}

func notJSON(message string) error {
	return &failure{code: "unsupported_media_type", message: message}
}

func (a *API) tooLarge() error {
	return &failure{code: "body_too_large", message: fmt.Sprintf("Send at most %d bytes; move large values into a file.", a.Limits.BodyBytes)}
}

func (a *API) unreadable(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return a.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &failure{code: "body_timeout", cause: err,
			message: fmt.Sprintf("The body has to arrive within %s. Send the request again.", a.Limits.BodyTimeout)}
	default:
		return &failure{code: "invalid_body", cause: err, message: "The body ended early. Send the request again."}
	}
}
