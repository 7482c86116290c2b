package events

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/events"
)

// eventChunk is how much memory a body gets at first: events of GitHub take 10 to 30 KiB.
const eventChunk = 16 << 10

var errBudget = errors.New("the budget of bytes is spent")

func errManyEvents() error {
	return exchange.Overloaded("The server is reading as many events as it can. Deliver the event again.")
}

// readEvent reads the body of an unknown sender, and calls cancel if others need its memory before the caller keeps it. Unless
// there is an error, the caller must release the body.
func (a *API) readEvent(w http.ResponseWriter, r *exchange.Request, budget *bodyBudget, owner bodyOwner, cancel context.CancelFunc) (
	d events.Delivery, body *bodyRead, err error,
) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") { // GitHub's default
		return d, nil, &exchange.Failure{Code: "unsupported_media_type", Message: "Set the content type of the webhook to application/json."}
	}
	if err := exchange.CheckContent(r.Header, "application/json"); err != nil {
		return d, nil, err
	}
	if r.ContentLength > a.Limits.EventBytes {
		return d, nil, exchange.TooLarge(a.Limits.EventBytes)
	}
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(a.Limits.EventTimeout))
	body = budget.begin(owner, func() {
		_ = connection.SetReadDeadline(time.Unix(1, 0)) // which ends a Read that waits
		cancel()
	})
	content, err := body.read(http.MaxBytesReader(w, r.Body, a.Limits.EventBytes))
	switch {
	case err == nil:
		return events.Delivery{Header: r.Header, Body: content, RequestID: r.ID, ReceivedAt: r.ReceivedAt}, body, nil
	case body.lost():
		err = errManyEvents()
	default:
		err = exchange.BodyFailure(err, a.Limits.EventTimeout)
	}
	body.release()
	return d, nil, err
}

// read takes memory only for what has arrived.
func (r *bodyRead) read(from io.Reader) (body []byte, err error) {
	for {
		if len(body) == cap(body) {
			more := max(eventChunk, cap(body))
			if !r.take(int64(more)) {
				return nil, errBudget
			}
			grown := make([]byte, len(body), len(body)+more)
			copy(grown, body)
			body = grown
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
