package history

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/junit"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// PodTests are the tests of a pod, as its collector logged them.
type PodTests struct {
	Pod string
	results.LogHeader
	Tests []httpapi.Test // in the order of its reports
	Cut   bool           // the end of the log is missing
}

// ErrUnreadable means that an object is not what its key says, or of a later version.
var ErrUnreadable = errors.New("the object cannot be read")

// Room bounds what is read of the pods of a run, all together.
type Room struct{ tests, bytes, texts int }

// NewRoom returns the room of a run.
func NewRoom() *Room { return &Room{maxTests, maxRunBytes, maxTexts} }

// fits takes the room of a test, without its text if that no longer fits.
func (r *Room) fits(t *httpapi.Test) bool {
	size := len(t.Name) + len(t.Suite) + len(t.File) + len(t.Message)
	if r.tests == 0 || size > r.bytes {
		return false
	}
	r.tests--
	r.bytes -= size
	if len(t.Text) > r.texts {
		t.Text = ""
	}
	r.texts -= len(t.Text)
	return true
}

// ReadPod reads a log that a container of the team may have written: it is bounded and cleaned. Of a log that breaks off, the beginning
// counts.
func ReadPod(pod string, input io.Reader, room *Room) (PodTests, error) {
	p := PodTests{Pod: pod}
	var err error
	p.Cut, err = readLines(input, &p.LogHeader, func(line []byte) {
		var t httpapi.Test
		switch {
		case json.Unmarshal(line, &t) != nil || !clean(&t):
		case room.fits(&t):
			p.Tests = append(p.Tests, t)
		default:
			p.Omitted = min(max(p.Omitted, 0), junit.MaxTests) + 1
		}
	})
	if err == nil && p.Version != results.LogVersion {
		err = fmt.Errorf("%w: it has version %d", ErrUnreadable, p.Version)
	}
	return p, err
}

// readLines reads lines of JSON, beginning with a header. It skips lines that are too long. Cut means that the rest is missing.
func readLines(input io.Reader, header any, each func(line []byte)) (cut bool, err error) {
	unpacked, err := gzip.NewReader(input)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	lines := bufio.NewReaderSize(io.LimitReader(unpacked, maxRaw), maxLine)
	first, err := lines.ReadSlice('\n')
	if err != nil || json.Unmarshal(first, header) != nil {
		return false, fmt.Errorf("%w: it has no header", ErrUnreadable)
	}
	tooLong := false
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			tooLong = true
			continue
		case errors.Is(err, io.EOF):
			return len(line) > 0, nil
		case err != nil:
			return true, nil // what comes after is lost
		}
		if !tooLong {
			each(line)
		}
		tooLong = false
	}
}

// clean reports whether a line is a test.
func clean(t *httpapi.Test) bool {
	t.Name, t.Suite, t.File = cleanLine(t.Name, maxName), cleanLine(t.Suite, maxName), cleanLine(t.File, maxName)
	t.Message = cleanLine(t.Message, maxMessage)
	if t.Text != "" {
		t.Text, _ = plaintext.Block(t.Text, maxText)
	}
	t.Line, t.Retries, t.Milliseconds = max(t.Line, 0), max(t.Retries, 0), min(max(t.Milliseconds, 0), maxMillis)
	return t.Name != "" && outcomes[t.State] != 0
}

// cleanLine spares texts that are clean, which are most.
func cleanLine(text string, max int) string {
	if len(text) <= max && isPlain(text) {
		return text
	}
	return plaintext.Line(text, max)
}

func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == ' ' && (i == 0 || i == len(text)-1 || text[i+1] == ' ') {
			return false
		}
	}
	return true
}
