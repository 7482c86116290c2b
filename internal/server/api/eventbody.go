package api

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postflight-dev/postflight/internal/usecase/events"
)

// byteBudget bounds the memory of bodies that may be of strangers: only the whole body shows who has signed it.
type byteBudget struct{ left atomic.Int64 }

func newByteBudget(size int64) *byteBudget {
	b := &byteBudget{}
	b.left.Store(size)
	return b
}

func (b *byteBudget) take(n int64) bool {
	if b.left.Add(-n) < 0 {
		b.left.Add(n)
		return false
	}
	return true
}

var errBudget = errors.New("the budget of bytes is spent")

// eventChunk is how much memory a body gets at first: those of GitHub take 10 to 30 KiB.
const eventChunk = 16 << 10

// readEvent reads a body of a sender that is not known yet. The caller must call release once it is, which may be called again.
func (a *API) readEvent(w http.ResponseWriter, r *Request) (d events.Delivery, release func(), err error) {
	if err := checkContent(r.Header, "application/json"); err != nil {
		return d, nil, err
	}
	if r.ContentLength > a.Limits.EventBytes {
		return d, nil, tooLarge(a.Limits.EventBytes)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(a.Limits.EventTimeout))
	body, taken, err := a.readUnverified(http.MaxBytesReader(w, r.Body, a.Limits.EventBytes))
	release = sync.OnceFunc(func() { a.unverified.left.Add(taken) })
	if err != nil {
		release()
		if errors.Is(err, errBudget) {
			return d, nil, overloaded("The server is reading as many events as it can. Deliver the event again.")
		}
		return d, nil, bodyFailure(err, a.Limits.EventTimeout)
	}
	return events.Delivery{Header: r.Header, Body: body, RequestID: r.requestID, ReceivedAt: r.receivedAt}, release, nil
}

// readUnverified takes memory only for what has arrived.
func (a *API) readUnverified(from io.Reader) (body []byte, taken int64, err error) {
	for {
		if len(body) == cap(body) {
			more := max(eventChunk, cap(body))
			if !a.unverified.take(int64(more)) {
				return nil, taken, errBudget
			}
			taken += int64(more)
			grown := make([]byte, len(body), len(body)+more)
			copy(grown, body)
			body = grown
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, taken, nil
		}
		if err != nil {
			return nil, taken, err
		}
	}
}
