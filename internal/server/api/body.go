package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// readBody allocates no more than the body needs.
func (a *API) readBody(w http.ResponseWriter, r *Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	// Not every ResponseWriter has a connection; the server's ReadTimeout applies in any case.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(a.Limits.BodyTimeout))
	var body []byte
	var err error
	if r.ContentLength >= 0 {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
	} else {
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	}
	if err != nil {
		return nil, bodyFailure(err, a.Limits.BodyTimeout)
	}
	return body, nil
}

// admit checks the headers of a body, and bounds the requests that need much memory.
func (a *API) admit(r *Request, mediaType string, mode dispatch.Mode) error {
	if err := checkContent(r.Header, mediaType); err != nil {
		return err
	}
	if r.ContentLength > a.Limits.BodyBytes {
		return tooLarge(a.Limits.BodyBytes)
	}
	large := mode == dispatch.DryRun || r.ContentLength < 0 || r.ContentLength > a.Limits.SmallBodyBytes
	if large && !r.acquire(a.large) {
		return overloaded("The server is answering as many dry runs and notifications of more than %d bytes (or of unknown length) as it can, "+
			"or as many of this team as leave room for others. Send the request again in a few seconds.", a.Limits.SmallBodyBytes)
	}
	return nil
}

func checkContent(h http.Header, mediaType string) error {
	types := h.Values("Content-Type")
	unsupported := &failure{code: "unsupported_media_type",
		message: fmt.Sprintf("Send exactly one header \"Content-Type: %s\", and a body of that type.", mediaType)}
	if len(types) != 1 {
		return unsupported
	}
	if sent, _, err := mime.ParseMediaType(types[0]); err != nil || sent != mediaType {
		return unsupported
	}
	if encoding := h.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		unsupported.message = "Send the body as it is, without a Content-Encoding."
		return unsupported
	}
	return nil
}

func tooLarge(limit int64) error {
	return &failure{code: "body_too_large", message: fmt.Sprintf("Send at most %d bytes; move large values into a file.", limit)}
}

func bodyFailure(err error, timeout time.Duration) error {
	var exceeded *http.MaxBytesError
	switch {
	case errors.As(err, &exceeded):
		return tooLarge(exceeded.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &failure{code: "body_timeout", cause: err,
			message: fmt.Sprintf("The body has to arrive within %s. Send the request again.", timeout)}
	default:
		return &failure{code: "invalid_body", cause: err, message: "The body ended early. Send the request again."}
	}
}
