package api

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/postflight-dev/postflight/internal/usecase/events"
)

// byteBudget bounds the memory of bodies that may be of strangers: only the whole body shows who has signed it. A source may take a quarter,
// so that strangers who know one keep no other out.
type byteBudget struct {
	size int64

	mu    sync.Mutex
	taken map[string]int64 // by source; without those that take nothing
	all   int64
}

func newByteBudget(size int64) *byteBudget { return &byteBudget{size: size, taken: map[string]int64{}} }

func (b *byteBudget) take(source string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all+n > b.size || b.taken[source]+n > b.size/4 {
		return false
	}
	b.all += n
	b.taken[source] += n
	return true
}

func (b *byteBudget) give(source string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all -= n
	if b.taken[source] -= n; b.taken[source] == 0 {
		delete(b.taken, source)
	}
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
	source := r.URL.Path
	body, taken, err := a.readUnverified(source, http.MaxBytesReader(w, r.Body, a.Limits.EventBytes))
	release = sync.OnceFunc(func() { a.unverified.give(source, taken) })
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
func (a *API) readUnverified(source string, from io.Reader) (body []byte, taken int64, err error) {
	for {
		if len(body) == cap(body) {
			more := max(eventChunk, cap(body))
			if !a.unverified.take(source, int64(more)) {
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
