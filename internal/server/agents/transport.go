package agents

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/postflight-dev/postflight/internal/core/access/delegation"
	"github.com/postflight-dev/postflight/internal/mcp"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
)

// inProcess hands requests to the handler of the API, with the credential in the headers of the agent (sender).
type inProcess struct {
	api    http.Handler
	sender http.Header
}

// forwarded are the only headers of the agent that the API sees: they say who it is. The client of the tools sets the others.
var forwarded = []string{"Authorization", "Postflight-Team"}

// RoundTrip answers as soon as the handler begins to, because a log may be longer than the memory.
func (t *inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	inner := r.Clone(ctx)
	for _, name := range forwarded {
		inner.Header.Del(name)
		if values := t.sender.Values(name); len(values) > 0 {
			inner.Header[name] = values
		}
	}
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	inner.RequestURI = inner.URL.RequestURI()
	body, pipe := io.Pipe()
	w := &answer{header: http.Header{}, begun: make(chan struct{}), pipe: pipe}
	go w.serve(t.api, inner)
	select {
	case <-w.begun:
		return &http.Response{
			StatusCode: w.status, Status: http.StatusText(w.status), Header: w.sent, Body: &stream{body, cancel}, ContentLength: -1,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		}, nil
	case <-r.Context().Done():
		_ = body.CloseWithError(r.Context().Err())
		cancel()
		return nil, r.Context().Err()
	}
}

// stream ends the handler when it is closed.
type stream struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (s *stream) Close() error {
	s.cancel()
	return s.PipeReader.Close()
}

// answer is what the handler writes to.
type answer struct {
	header, sent http.Header
	status       int
	once         sync.Once
	begun        chan struct{}
	pipe         *io.PipeWriter
	written      int64
	elements     int
}

// serve ends the answer with an error if the handler cut it off, which it does with a panic. The API has logged any other panic.
func (a *answer) serve(api http.Handler, r *http.Request) {
	defer func() {
		var err error
		if recover() != nil {
			err = io.ErrUnexpectedEOF
		}
		a.WriteHeader(http.StatusOK)
		_ = a.pipe.CloseWithError(err)
	}()
	api.ServeHTTP(a, r)
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	a.once.Do(func() {
		a.status, a.sent = status, a.header.Clone()
		close(a.begun)
	})
}

// Write refuses more than a tool may keep in memory. Logs are texts, and read line by line.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.written += int64(len(p))
	a.elements += delegation.Elements(p)
	tooLarge := a.written > limits.MaxAgentAnswer || a.elements > limits.MaxAgentElements
	if tooLarge && !strings.HasPrefix(a.sent.Get("Content-Type"), "text/plain") {
		_ = a.pipe.CloseWithError(mcp.ErrTooLarge)
		return 0, mcp.ErrTooLarge
	}
	return a.pipe.Write(p)
}

// Flush has nothing to do: each write arrives at once.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }
