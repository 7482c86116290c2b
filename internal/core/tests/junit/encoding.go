package junit

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// declared matches the encoding that the first line of a report names, such as Shift_JIS or windows-1251.
var declared = regexp.MustCompile(`(?i)^\s*<\?xml[^>]{0,100}encoding=["']([a-z0-9._:-]{1,40})["']`)

// codePages are names of Python and Oracle for encodings that the web calls otherwise.
var codePages = map[string]string{
	"cp932": "shift_jis", "ms932": "shift_jis", "cp936": "gbk", "ms936": "gbk", "cp949": "euc-kr",
	"ms949": "euc-kr", "cp950": "big5", "ms950": "big5",
	"ansi_x3.4-1968": "windows-1252", "646": "windows-1252",
}

// utf8Reader leaves invalid bytes, which are replaced where the text is used.
func utf8Reader(r io.Reader) io.Reader {
	input := bufio.NewReader(r)
	head, _ := input.Peek(256)
	var from encoding.Encoding
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(head, []byte("<\x00\x00\x00")):
		from = utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)
	case bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")), bytes.HasPrefix(head, []byte("\x00\x00\x00<")):
		from = utf32.UTF32(utf32.BigEndian, utf32.UseBOM)
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("<\x00")):
		from = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte("\xfe\xff")), bytes.HasPrefix(head, []byte("\x00<")):
		from = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, _ = input.Discard(3)
		return input
	default:
		if from = declaredIn(head); from == nil {
			return input
		}
	}
	return from.NewDecoder().Reader(input)
}

// declaredIn returns nil for UTF-8, for an unknown name, and for UTF-16: if the first line can be read as ASCII, the file is not UTF-16,
// whatever it declares.
func declaredIn(head []byte) encoding.Encoding {
	match := declared.FindSubmatch(head)
	if match == nil {
		return nil
	}
	name := strings.ToLower(string(match[1]))
	if other, known := codePages[name]; known {
		name = other
	}
	from, err := htmlindex.Get(name)
	if err != nil {
		return nil
	}
	switch canonical, _ := htmlindex.Name(from); canonical {
	case "utf-8", "utf-16le", "utf-16be", "replacement", "x-user-defined":
		return nil
	default:
		return from
	}
}
