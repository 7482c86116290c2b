package notification

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// InvalidError says why a body is not a notification, to the sender.
type InvalidError struct {
	Field  string // the path of the wrong member, e.g. variables.FOO; empty for the body as a whole
	Reason string // completes "The field ..." or "The request body ...", without a full stop
}

func (e *InvalidError) Error() string {
	if e.Field == "" {
		return "The request body " + e.Reason + "."
	}
	return "The field " + e.Field + " " + e.Reason + "."
}

// fieldPath writes /variables/FOO as variables.FOO. It quotes names with special characters, and cuts long ones.
func fieldPath(pointer jsontext.Pointer) string {
	var path strings.Builder
	for token := range pointer.Tokens() {
		if path.Len() > 2*maxQuoted {
			return path.String() + "…"
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(plainOrQuoted(token))
	}
	return path.String()
}

func plainOrQuoted(name string) string {
	special := func(r rune) bool { return r == '.' || r == '"' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if name == "" || strings.ContainsFunc(name, special) {
		return quote(name)
	}
	return cut(name)
}

func quote(s string) string {
	return strconv.Quote(cut(s))
}

func cut(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	end := maxQuoted
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
