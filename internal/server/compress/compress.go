// Package compress sends answers compressed to clients that accept it.
package compress

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// writers are reused, because each takes hundreds of KiB.
var writers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return w
}}

// Accepts reports whether the client accepts gzip.
func Accepts(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

// Bytes compresses an answer.
func Bytes(body []byte) []byte {
	var out bytes.Buffer
	_ = copyTo(&out, bytes.NewReader(body)) // a buffer takes everything
	return out.Bytes()
}

// Copy sends a text. It aborts the connection if reading fails, because a part must not look like the whole.
func Copy(w http.ResponseWriter, r *http.Request, text io.Reader) {
	w.Header().Add("Vary", "Accept-Encoding")
	var err error
	if Accepts(r) {
		w.Header().Set("Content-Encoding", "gzip")
		err = copyTo(w, text)
	} else {
		_, err = io.Copy(w, text)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

func copyTo(out io.Writer, text io.Reader) error {
	z := writers.Get().(*gzip.Writer)
	defer writers.Put(z)
	z.Reset(out)
	_, err := io.Copy(z, text)
	return errors.Join(err, z.Close())
}
