package exchange

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

// ReadBody allocates no more than the body needs.
func (s *Server) ReadBody(w http.ResponseWriter, r *Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, TooLarge(limit)
	}
	// Not every ResponseWriter has a connection; the server's ReadTimeout applies in any case.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.Limits.BodyTimeout))
	var body []byte
	var err error
	if r.ContentLength >= 0 {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
	} else {
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	}
	if err != nil {
		return nil, BodyFailure(err, s.Limits.BodyTimeout)
	}
	return body, nil
}

// Admit checks the headers of a body, and bounds the requests that need much memory.
func (s *Server) Admit(r *Request, mediaType string, mode dispatch.Mode) error {
	if err := CheckContent(r.Header, mediaType); err != nil {
		return err
	}
	if r.ContentLength > s.Limits.BodyBytes {
		return TooLarge(s.Limits.BodyBytes)
	}
	if !s.AcquireLarge(r, mode == dispatch.DryRun) {
		return Overloaded("The server is answering as many dry runs and notifications of more than %d bytes (or of unknown length) as it can, "+
			"or as many of this team as leave room for others. Send the request again in a few seconds.", s.Limits.SmallBodyBytes)
	}
	return nil
}

// AcquireLarge reports whether a request with a large body or one of unknown length, or an expensive one, has a slot. Others need none.
func (s *Server) AcquireLarge(r *Request, expensive bool) bool {
	large := expensive || r.ContentLength < 0 || r.ContentLength > s.Limits.SmallBodyBytes
	return !large || r.Acquire(s.Large)
}

// CheckContent accepts exactly one header with the media type, and no encoding.
func CheckContent(h http.Header, mediaType string) error {
	types := h.Values("Content-Type")
	unsupported := &Failure{Code: "unsupported_media_type",
		Message: fmt.Sprintf("Send exactly one header \"Content-Type: %s\", and a body of that type.", mediaType)}
	if len(types) != 1 {
		return unsupported
	}
	if sent, _, err := mime.ParseMediaType(types[0]); err != nil || sent != mediaType {
		return unsupported
	}
	if encoding := h.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		unsupported.Message = "Send the body as it is, without a Content-Encoding."
		return unsupported
	}
	return nil
}

// TooLarge is the failure of a body with more bytes than the limit.
func TooLarge(limit int64) error {
	return &Failure{Code: "body_too_large", Message: fmt.Sprintf("Send at most %d bytes; move large values into a file.", limit)}
}

// BodyFailure is the failure of a body that cannot be read.
func BodyFailure(err error, timeout time.Duration) error {
	var exceeded *http.MaxBytesError
	switch {
	case errors.As(err, &exceeded):
		return TooLarge(exceeded.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Failure{Code: "body_timeout", Cause: err,
			Message: fmt.Sprintf("The body has to arrive within %s. Send the request again.", timeout)}
	default:
		return &Failure{Code: "invalid_body", Cause: err, Message: "The body ended early. Send the request again."}
	}
}
