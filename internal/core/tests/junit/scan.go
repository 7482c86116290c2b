package junit

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"html"
	"io"
	"slices"
	"strings"
)

// scanner splits XML into tags and texts in bounded memory. encoding/xml keeps whole texts in memory, and refuses control characters, which
// test runners copy from programs. Entities of a DTD stay as written.
type scanner struct {
	input   *bufio.Reader
	maxText int    // bytes that are kept of each text and of each value of an attribute
	pending Token  // the end of an element without content; its Kind is Text if there is none
	rest    string // the last bytes of the last text, if that was cut

	// The memory of these is used again for the next tag or text.
	attrs      Attrs
	kept, tail []byte
	names      map[string]string // see shared
}

// Kind of a token.
type Kind int

// The kinds. An element without content has both tags.
const (
	Text Kind = iota
	Start
	End
)

// next returns io.EOF between two tokens, and io.ErrUnexpectedEOF in one.
func (s *scanner) next() (Token, error) {
	if t := s.pending; t.Kind == End {
		s.pending = Token{}
		return t, nil
	}
	for {
		content, err := s.until("<", s.maxText)
		atEnd := errors.Is(err, io.ErrUnexpectedEOF)
		if len(bytes.TrimSpace(content)) > 0 {
			text := html.UnescapeString(string(content))
			if atEnd {
				err = nil // the next call returns io.EOF
			} else if err == nil {
				err = s.input.UnreadByte()
			}
			return Token{Kind: Text, Text: text, Rest: html.UnescapeString(s.rest), Cut: s.rest != ""}, err
		}
		if atEnd {
			return Token{}, io.EOF
		}
		if err != nil {
			return Token{}, err
		}
		t, ok, err := s.markup()
		if ok || err != nil {
			return t, err
		}
	}
}

func (s *scanner) markup() (Token, bool, error) {
	switch {
	case s.skip("!--"):
		_, err := s.until("-->", 0)
		return Token{}, false, err
	case s.skip("![CDATA["):
		content, err := s.until("]]>", s.maxText)
		return Token{Kind: Text, Text: string(content), Rest: s.rest, Cut: s.rest != ""}, len(content) > 0, err
	case s.skip("!"):
		return Token{}, false, s.directive()
	case s.skip("?"):
		_, err := s.until("?>", 0)
		return Token{}, false, err
	case s.skip("/"):
		name, err := s.until(">", maxTagName)
		return Token{Kind: End, Name: local(s.shared(bytes.TrimSpace(name)))}, true, err
	default:
		t, err := s.start()
		return t, true, err
	}
}

func (s *scanner) skip(prefix string) bool {
	if b, _ := s.input.Peek(len(prefix)); string(b) != prefix {
		return false
	}
	_, _ = s.input.Discard(len(prefix))
	return true
}

func (s *scanner) directive() error {
	for depth := 1; depth > 0; {
		b, err := s.input.ReadByte()
		switch {
		case err != nil:
			return unexpected(err)
		case b == '<':
			depth++
		case b == '>':
			depth--
		}
	}
	return nil
}

func (s *scanner) start() (Token, error) {
	name, err := s.name()
	if err != nil || name == "" {
		return Token{}, orMarkup(err)
	}
	t := Token{Kind: Start, Name: local(name)}
	s.attrs = s.attrs[:0]
	for {
		b, err := s.nonSpace()
		switch {
		case err != nil:
			return t, err
		case b == '>':
			t.Attrs = slices.Clone(s.attrs)
			return t, nil
		case b == '/':
			if b, err = s.input.ReadByte(); err != nil || b != '>' {
				return t, orMarkup(err)
			}
			s.pending = Token{Kind: End, Name: t.Name}
			t.Attrs = slices.Clone(s.attrs)
			return t, nil
		}
		_ = s.input.UnreadByte()
		if err := s.attribute(&t); err != nil {
			return t, err
		}
	}
}

func (s *scanner) attribute(t *Token) error {
	name, err := s.name()
	if err != nil || name == "" {
		return orMarkup(err)
	}
	if b, err := s.nonSpace(); err != nil || b != '=' {
		return orMarkup(err)
	}
	quote, err := s.nonSpace()
	if err != nil || (quote != '"' && quote != '\'') {
		return orMarkup(err)
	}
	value, err := s.until(string(quote), s.maxText)
	if err == nil && len(s.attrs) < maxAttributes {
		s.attrs.Set(name, html.UnescapeString(string(value)))
		t.Cut = t.Cut || s.rest != ""
	}
	return err
}

func (s *scanner) name() (string, error) {
	ahead, err := s.input.Peek(maxTagName + 1)
	for i, c := range ahead {
		if strings.IndexByte(" \t\r\n=/<>'\"", c) >= 0 {
			name := s.shared(ahead[:i])
			_, err = s.input.Discard(i)
			return name, err
		}
	}
	if len(ahead) > maxTagName {
		return "", errMarkup
	}
	return "", unexpected(err)
}

// shared returns one string for all tags or attributes of a name.
func (s *scanner) shared(name []byte) string {
	known, ok := s.names[string(name)]
	if !ok {
		known = string(name)
		if len(s.names) < maxNames {
			s.names[known] = known
		}
	}
	return known
}

func (s *scanner) nonSpace() (byte, error) {
	for {
		c, err := s.input.ReadByte()
		if err != nil || strings.IndexByte(" \t\r\n", c) < 0 {
			return c, unexpected(err)
		}
	}
}

// until reads past the end mark, and returns at most limit bytes of what precedes it. They stay only until the next read.
func (s *scanner) until(end string, limit int) ([]byte, error) {
	s.rest = ""
	chunk, err := s.input.ReadSlice(end[len(end)-1])
	if text, whole := bytes.CutSuffix(chunk, []byte(end)); err == nil && whole && len(text) <= limit {
		return text, nil
	}
	kept, tail := s.kept[:0], s.tail[:0]
	defer func() { s.kept, s.tail = kept, tail }()
	for ; ; chunk, err = s.input.ReadSlice(end[len(end)-1]) {
		kept = append(kept, chunk[:min(len(chunk), limit+len(end)-len(kept))]...)
		tail = append(tail, chunk[max(0, len(chunk)-maxRest):]...)
		tail = tail[max(0, len(tail)-maxRest):]
		switch {
		case err == nil && bytes.HasSuffix(tail, []byte(end)):
			text := bytes.TrimSuffix(kept, []byte(end))
			if len(text) > limit && limit > 0 {
				s.rest = strings.TrimSuffix(string(tail), end)
			}
			return text[:min(len(text), limit)], nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return kept[:min(len(kept), limit)], unexpected(err)
		}
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func orMarkup(err error) error { return cmp.Or(err, errMarkup) }

func local(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }
