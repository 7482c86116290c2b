package plaintext

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// maxSequence bounds one terminal code, in runes: a colour needs 20.
const maxSequence = 64

// colour matches what follows ESC in a code that sets colours and styles.
var colour = regexp.MustCompile(`^\[[0-9;:]*m$`)

// CopyToTerminal copies an untrusted log without delay. It keeps colours, tabs and line ends, and drops other codes, which could overwrite
// lines, set the title, write to the clipboard, or make the terminal type.
func CopyToTerminal(terminal io.Writer, log io.Reader) error {
	input, out := bufio.NewReader(log), bufio.NewWriter(terminal)
	f := filter{out: out}
	for {
		if input.Buffered() < utf8.UTFMax { // the next rune may have to be waited for
			if err := out.Flush(); err != nil {
				return err
			}
		}
		r, _, err := input.ReadRune()
		if err != nil {
			f.end()
			if flushErr := out.Flush(); flushErr != nil || errors.Is(err, io.EOF) {
				return flushErr
			}
			return err
		}
		f.put(r)
	}
}

// The states of a filter: what the next rune belongs to.
const (
	inText    = iota
	inEscape  // ESC, and perhaps intermediate characters
	inControl // a control sequence: ESC [ and its parameters
	inString  // a string for the terminal, such as a title
)

type filter struct {
	out      *bufio.Writer // which keeps its first error until it is flushed
	state    int
	sequence []rune // of the control sequence, from its bracket
	colored  bool   // a colour may be set
}

func (f *filter) put(r rune) {
	switch {
	case r == '\x1b':
		f.state = inEscape
	case f.state == inText:
		f.text(r)
	case f.state == inEscape:
		f.escape(r)
	case f.state == inControl:
		f.control(r)
	case r == '\a' || r == '\u009c': // the end of a string
		f.state = inText
	case r == '\n': // a string without an end must not hide the lines that follow
		f.text(r)
	}
}

func (f *filter) text(r rune) {
	f.state = inText
	switch {
	case r == '\u009b': // the other way to write ESC [
		f.state, f.sequence = inControl, append(f.sequence[:0], '[')
	case r == '\u0090' || r == '\u0098' || r == '\u009d' || r == '\u009e' || r == '\u009f':
		f.state = inString
	case r == '\n' || r == '\r' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r):
		_, _ = f.out.WriteRune(r)
	}
}

func (f *filter) escape(r rune) {
	switch {
	case r == '[':
		f.state, f.sequence = inControl, append(f.sequence[:0], '[')
	case r == ']' || r == 'P' || r == 'X' || r == '^' || r == '_':
		f.state = inString
	case ' ' <= r && r <= '/': // an intermediate character
	case '0' <= r && r <= '~':
		f.state = inText
	default:
		f.text(r)
	}
}

func (f *filter) control(r rune) {
	switch {
	case ' ' <= r && r <= '~':
		if len(f.sequence) < maxSequence {
			f.sequence = append(f.sequence, r)
		}
		if r < '@' { // a parameter
			return
		}
		f.state = inText
		if code := string(f.sequence); colour.MatchString(code) {
			_, _ = f.out.WriteString("\x1b" + code)
			f.colored = true
		}
	default: // unfinished
		f.text(r)
	}
}

func (f *filter) end() {
	if f.colored {
		_, _ = f.out.WriteString("\x1b[0m")
	}
}
