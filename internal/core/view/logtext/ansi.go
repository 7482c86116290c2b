package logtext

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/postflight-dev/postflight/internal/core/view"
)

// Span is a part of a line in one style. The class is empty for plain text.
type Span struct{ Class, Text string }

// maxLineBytes bounds what is shown of a line; the rest can be downloaded.
const maxLineBytes = 4 << 10

// maxSpans bounds the styles of a line, because a style takes far more memory than its text. The rest of the line is plain.
const maxSpans = 64

// Spans styles a line of a log in the terminal's 16 colours: a page without inline styles has no others. A terminal emulator would join and
// move lines, and here each line keeps its number.
func Spans(line []byte) []Span {
	line = visiblePart(line)
	cut := len(line) - maxLineBytes
	if cut > 0 {
		line = line[:maxLineBytes]
	}
	var spans []Span
	style := sgr{}
	for len(line) > 0 {
		if len(spans) == maxSpans-1 {
			if text := PlainText(line); text != "" {
				spans = append(spans, Span{"", text})
			}
			break
		}
		text, code, rest := nextCode(line)
		if text = clean(text); text != "" {
			spans = append(spans, Span{style.class(), text})
		}
		style.apply(code)
		line = rest
	}
	if cut > 0 {
		spans = append(spans, Span{"t-dim", " … " + view.Bytes(int64(cut)) + " more"})
	}
	return spans
}

// PlainText is a line without terminal codes.
func PlainText(line []byte) string {
	var text strings.Builder
	line = visiblePart(line)
	for len(line) > 0 {
		part, _, rest := nextCode(line)
		text.WriteString(clean(part))
		line = rest
	}
	return text.String()
}

// visiblePart drops the earlier states of a progress bar.
func visiblePart(line []byte) []byte {
	line = bytes.TrimRight(line, "\r\n")
	return line[bytes.LastIndexByte(line, '\r')+1:]
}

// nextCode divides a line at its next terminal code. The code holds the parameters if it sets colours, and is otherwise empty.
func nextCode(line []byte) (text, code string, rest []byte) {
	i := bytes.IndexByte(line, 0x1b)
	if i < 0 {
		return string(line), "", nil
	}
	text, line = string(line[:i]), line[i+1:]
	if len(line) == 0 {
		return text, "", nil
	}
	switch line[0] {
	case '[':
		end := bytes.IndexFunc(line[1:], func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 {
			return text, "", nil
		}
		if line[1+end] == 'm' {
			code = "0" + string(line[1:1+end]) // an empty code resets
		}
		return text, code, line[2+end:]
	case ']', 'P', 'X', '^', '_': // titles and links, which end with a bell or a string terminator
		return text, "", afterString(line)
	default:
		return text, "", line[1:]
	}
}

// afterString ends a string at any other code, as terminals do, so that a line is read once, however many strings begin in it.
func afterString(line []byte) []byte {
	end := bytes.IndexAny(line, "\a\x1b")
	switch {
	case end < 0:
		return nil
	case line[end] == '\a':
		return line[end+1:]
	default:
		return bytes.TrimPrefix(line[end:], []byte("\x1b\\"))
	}
}

// clean drops invisible characters, and marks of the direction of writing, which can make a text look like another.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError:
			return -1
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f:
			return -1
		default:
			return r
		}
	}, text)
}

type sgr struct {
	color                        int // 1 to 16; 0: none
	background                   int
	bold, dim, italic, underline bool
}

func (s *sgr) apply(code string) {
	if code == "" {
		return
	}
	params := strings.FieldsFunc(code, func(r rune) bool { return r == ';' || r == ':' })
	for i := 0; i < len(params); i++ {
		n, err := strconv.Atoi(params[i])
		if err != nil {
			return
		}
		switch n {
		case 0:
			*s = sgr{}
		case 38, 48:
			color, used := extended(params[i+1:])
			if i += used; n == 38 {
				s.color = color
			} else {
				s.background = color
			}
		default:
			s.set(n)
		}
	}
}

func (s *sgr) set(n int) {
	switch n {
	case 1:
		s.bold = true
	case 2:
		s.dim = true
	case 3:
		s.italic = true
	case 4:
		s.underline = true
	case 22:
		s.bold, s.dim = false, false
	case 23:
		s.italic = false
	case 24:
		s.underline = false
	case 39:
		s.color = 0
	case 49:
		s.background = 0
	default:
		s.setColor(n)
	}
}

func (s *sgr) setColor(n int) {
	switch {
	case n >= 30 && n <= 37:
		s.color = n - 29
	case n >= 40 && n <= 47:
		s.background = n - 39
	case n >= 90 && n <= 97:
		s.color = n - 81
	case n >= 100 && n <= 107:
		s.background = n - 91
	}
}

// extended reads 5;N or 2;R;G;B, and returns the nearest of the 16 colours, and how many parameters it took.
func extended(params []string) (color, used int) {
	number := func(i int) int {
		if i >= len(params) {
			return 0
		}
		n, _ := strconv.Atoi(params[i])
		return min(max(n, 0), 255)
	}
	switch number(0) {
	case 5:
		return from256(number(1)), 2
	case 2:
		return fromRGB(number(1), number(2), number(3)), 4
	default:
		return 0, len(params)
	}
}

func from256(n int) int {
	const cube = 6
	switch {
	case n < 16:
		return n + 1
	case n >= 232: // greys
		grey := 8 + 10*(n-232)
		return fromRGB(grey, grey, grey)
	default:
		n -= 16
		return fromRGB(n/cube/cube*51, n/cube%cube*51, n%cube*51)
	}
}

// fromRGB takes each part as on or off, and the bright colour if one is strong.
func fromRGB(r, g, b int) int {
	const on, strong = 110, 200
	color := 0
	for i, part := range []int{r, g, b} {
		if part >= on {
			color |= 1 << i
		}
	}
	bright := max(r, g, b) >= strong && color != 0
	if color == 0 && max(r, g, b) >= 50 { // dark grey
		bright = true
	}
	if bright {
		color += 8
	}
	return color + 1
}

func (s sgr) class() string {
	var classes []string
	if s.color > 0 {
		classes = append(classes, "t-"+strconv.Itoa(s.color-1))
	}
	if s.background > 0 {
		classes = append(classes, "t-on-"+strconv.Itoa(s.background-1))
	}
	for _, c := range []struct {
		on   bool
		name string
	}{{s.bold, "t-bold"}, {s.dim, "t-dim"}, {s.italic, "t-italic"}, {s.underline, "t-underline"}} {
		if c.on {
			classes = append(classes, c.name)
		}
	}
	return strings.Join(classes, " ")
}
