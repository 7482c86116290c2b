package junit

import (
	"bufio"
	"bytes"
	"io"
	"regexp"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// western matches declarations of the encodings that .NET and older Java tools write besides UTF-8 and UTF-16.
var western = regexp.MustCompile(`(?i)^\s*<\?xml[^>]{0,100}encoding=["'](iso-8859-1|iso-8859-15|latin1|windows-1252|cp1252|us-ascii)["']`)

// utf8Reader leaves invalid bytes, which are replaced where the text is used.
func utf8Reader(r io.Reader) io.Reader {
	in := bufio.NewReader(r)
	head, _ := in.Peek(256)
	var from encoding.Encoding
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("<\x00")):
		from = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte("\xfe\xff")), bytes.HasPrefix(head, []byte("\x00<")):
		from = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, _ = in.Discard(3)
		return in
	case western.Match(head):
		from = charmap.Windows1252
	default:
		return in
	}
	return from.NewDecoder().Reader(in)
}
