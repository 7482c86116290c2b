package archive

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/record"
)

// cutMark is the line that replaces the middle of a log.
const cutMark = "[postflight: %d bytes were left out here]\n"

// text returns the log as it is stored, and how many of its bytes are left out.
func (s *spool) text(broken bool) (text io.Reader, omitted int64, err error) {
	text = io.NewSectionReader(s.raw, 0, s.size)
	if s.size > head+tail {
		if text, omitted, err = s.cut(); err != nil {
			return nil, 0, err
		}
	}
	if broken {
		last := make([]byte, 1)
		if _, err := s.raw.ReadAt(last, position(s.size-1)); err != nil {
			return nil, 0, err
		}
		text = io.MultiReader(text, markAfter(last, record.BrokenMark))
	}
	return text, omitted, nil
}

// cut leaves out the middle, and a little more, so that whole lines remain.
func (s *spool) cut() (text io.Reader, omitted int64, err error) {
	beginning := make([]byte, maxLine)
	if _, err := s.raw.ReadAt(beginning, head-maxLine); err != nil {
		return nil, 0, err
	}
	if end := bytes.LastIndexByte(beginning, '\n'); end >= 0 {
		beginning = beginning[:end+1]
	}
	oldest := position(s.size)
	ring := io.MultiReader(io.NewSectionReader(s.raw, oldest, head+tail-oldest), io.NewSectionReader(s.raw, head, oldest-head))
	ending := make([]byte, maxLine)
	if _, err := io.ReadFull(ring, ending); err != nil {
		return nil, 0, err
	}
	ending = ending[bytes.IndexByte(ending, '\n')+1:]
	omitted = s.size - head - tail + int64(maxLine-len(beginning)) + int64(maxLine-len(ending))
	return io.MultiReader(
		io.NewSectionReader(s.raw, 0, head-maxLine), bytes.NewReader(beginning),
		markAfter(beginning, fmt.Sprintf(cutMark, omitted)),
		bytes.NewReader(ending), ring,
	), omitted, nil
}

// markAfter is a mark on a line of its own.
func markAfter(text []byte, mark string) io.Reader {
	if !bytes.HasSuffix(text, []byte("\n")) {
		mark = "\n" + mark
	}
	return strings.NewReader(mark)
}
