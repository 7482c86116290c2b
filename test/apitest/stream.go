package apitest

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync/atomic"
)

// FailingReader fails at once.
type FailingReader struct{ Err error }

func (r FailingReader) Read([]byte) (int, error) { return 0, r.Err }

// Stalled is a body that blocks until it is released.
type Stalled struct {
	Reading, Release chan struct{}
	io.Reader
}

func (s *Stalled) Read(p []byte) (int, error) {
	select {
	case s.Reading <- struct{}{}:
	case <-s.Release:
	}
	<-s.Release
	return s.Reader.Read(p)
}

// Stream is a ResponseWriter that can be read meanwhile.
type Stream struct {
	LockedBuffer
	header http.Header
	Status atomic.Int32
}

// NewStream returns an empty Stream.
func NewStream() *Stream { return &Stream{header: http.Header{}} }

// Header sets a header of a request.
func (s *Stream) Header() http.Header { return s.header }

// WriteHeader keeps the first status.
func (s *Stream) WriteHeader(status int) { s.Status.CompareAndSwap(0, int32(status)) }

// Flush does nothing, because nothing is buffered.
func (s *Stream) Flush() {}

func (s *Stream) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return s.LockedBuffer.Write(p)
}

// Read describes the answer with the logs of the run r.
func (h *World) Read(query string) (answer string) {
	h.T.Helper()
	w := NewStream()
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			answer = w.String() + ", broken off"
		default:
			panic(p)
		}
	}()
	h.ServeHTTP(w, Get(RunsPath+"/r/logs"+query))
	if status := w.Status.Load(); status != http.StatusOK {
		return fmt.Sprint("status ", status)
	}
	return w.String()
}

// Heap returns how many bytes are in use.
func Heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
