package podlogs

import (
	"bytes"
	"errors"
	"io"
	"regexp"
)

var (
	noticeStart = []byte("rpc error: code = NotFound desc = ")

	// notice ends a followed log, without an end of line, if the container is removed: the kubelet can no longer send an error.
	notice = regexp.MustCompile(`^rpc error: code = NotFound desc = .*[0-9a-f]{64}.*$`)
)

// maxNotice bounds a notice, in bytes.
const maxNotice = 512

// withoutNotice drops the notice from a followed log. It holds back only a last line that begins like it.
type withoutNotice struct {
	io.ReadCloser

	ready, held []byte // held begins a line
	inLine      bool   // in a line that is no notice
	err         error
}

func (w *withoutNotice) Read(p []byte) (int, error) {
	for len(w.ready) == 0 && w.err == nil {
		n, err := w.ReadCloser.Read(p)
		w.take(p[:n])
		removed := errors.Is(err, io.EOF) && notice.Match(w.held)
		if w.err = err; err != nil && !removed {
			w.release(len(w.held))
		}
	}
	if len(w.ready) == 0 {
		return 0, w.err
	}
	n := copy(p, w.ready)
	w.ready = w.ready[n:]
	return n, nil
}

func (w *withoutNotice) take(b []byte) {
	w.held = append(w.held, b...)
	if end := bytes.LastIndexByte(w.held, '\n') + 1; end > 0 {
		w.release(end)
		w.inLine = false
	}
	begins := bytes.HasPrefix(w.held, noticeStart) || bytes.HasPrefix(noticeStart, w.held)
	if w.inLine || !begins || len(w.held) > maxNotice {
		w.inLine = w.inLine || len(w.held) > 0
		w.release(len(w.held))
	}
}

func (w *withoutNotice) release(n int) {
	w.ready = append(w.ready, w.held[:n]...)
	w.held = append(w.held[:0], w.held[n:]...)
}
