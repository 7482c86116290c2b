package notification

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// reader reads a body token by token. Its errors name the last member. Texts of other members than those that it reads may be broken.
type reader struct {
	tokens  *jsontext.Decoder
	isUTF8  bool // the whole body is
	repairs bool // replaces what is no character in the next text
}

func newReader(body []byte) (*reader, error) {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return nil, &InvalidError{Reason: "is empty; send a JSON object, at least {}"}
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return nil, &InvalidError{Reason: "starts with a byte order mark; send UTF-8 without it"}
	}
	return &reader{tokens: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true)), isUTF8: utf8.Valid(body)}, nil
}

// object reads an object, or null for an absent one. It calls member with each name, to read or skip the value.
func (r *reader) object(want string, member func(name string) error) error {
	switch kind := r.tokens.PeekKind(); kind {
	case jsontext.KindNull, jsontext.KindBeginObject:
		if _, err := r.next(); err != nil || kind == jsontext.KindNull {
			return err
		}
	default:
		return r.wrongType(want)
	}
	for {
		if r.tokens.PeekKind() != jsontext.KindString {
			_, err := r.next() // the end, or a syntax error
			return err
		}
		name, broken, err := r.unquoted()
		switch {
		case err != nil:
			return err
		case broken:
			return &InvalidError{Reason: "has a name that is not valid UTF-8; send JSON in UTF-8"}
		}
		if err := member(name); err != nil {
			return err
		}
	}
}

// text reads a string, or "" for null.
func (r *reader) text() (string, error) {
	if r.tokens.PeekKind() != jsontext.KindString {
		_, err := r.scalar("a string")
		return "", err
	}
	value, broken, err := r.unquoted()
	if err == nil && broken && !r.repairs {
		err = r.invalid(BrokenText)
	}
	return value, err
}

// unquoted reads a string, in which U+FFFD replaces what is no character, and reports whether it does.
func (r *reader) unquoted() (text string, broken bool, err error) {
	raw, err := r.tokens.ReadValue()
	if err != nil {
		return "", false, r.syntaxError(err)
	}
	unquoted, err := jsontext.AppendUnquote(nil, raw)
	return string(unquoted), err != nil, nil
}

// checked reads a string into a field, in the form that the check returns. The empty string means absent.
func (r *reader) checked(field *string, check check) error {
	value, err := r.text()
	if err != nil || value == "" {
		return err
	}
	value, reason := check(value)
	if reason != "" {
		return r.invalid(reason)
	}
	*field = value
	return nil
}

// boolean reads true or false, or false for null.
func (r *reader) boolean() (bool, error) {
	value, err := r.scalar("true or false", jsontext.KindTrue, jsontext.KindFalse)
	return err == nil && value.Kind() == jsontext.KindTrue, err
}

// number reads a number as it was sent, or "" for null.
func (r *reader) number() (string, error) {
	value, err := r.scalar("a number", jsontext.KindNumber)
	if err != nil || value.Kind() == jsontext.KindNull {
		return "", err
	}
	return value.String(), nil
}

func (r *reader) scalar(want string, kinds ...jsontext.Kind) (jsontext.Token, error) {
	if kind := r.tokens.PeekKind(); kind == jsontext.KindNull || slices.Contains(kinds, kind) {
		return r.next()
	}
	return jsontext.Token{}, r.wrongType(want)
}

// wrongType also reads the value, so that the error can name it.
func (r *reader) wrongType(want string) error {
	token, err := r.next()
	if err != nil {
		return err
	}
	return r.invalid(fmt.Sprintf("must be %s, not %s", want, kindNames[token.Kind()]))
}

// skip reads a value of any type, which must be valid JSON too.
func (r *reader) skip() error {
	depth := r.tokens.StackDepth()
	for {
		if _, err := r.next(); err != nil {
			return err
		}
		if r.tokens.StackDepth() == depth {
			return nil
		}
	}
}

func (r *reader) end() error {
	_, err := r.tokens.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return &InvalidError{Reason: "continues after the JSON object; send one object and nothing after it"}
}

func (r *reader) next() (jsontext.Token, error) {
	token, err := r.tokens.ReadToken()
	if err != nil {
		return token, r.syntaxError(err)
	}
	if r.tokens.StackDepth() > maxNesting {
		return token, &InvalidError{Reason: fmt.Sprintf("nests objects and arrays more than %d deep; send a flatter one", maxNesting)}
	}
	return token, nil
}

// path is that of the member that was read last.
func (r *reader) path() string { return fieldPath(r.tokens.StackPointer()) }

func (r *reader) invalid(reason string) error {
	return &InvalidError{Field: r.path(), Reason: reason}
}

// invalidBelow is about a member of the object that was read last.
func (r *reader) invalidBelow(member, reason string) error {
	return &InvalidError{Field: r.path() + "." + member, Reason: reason}
}

// invalidParent is about the object that has the member that was read last.
func (r *reader) invalidParent(reason string) error {
	return &InvalidError{Field: fieldPath(r.tokens.StackPointer().Parent()), Reason: reason}
}

func (r *reader) syntaxError(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return &InvalidError{Reason: "ends too early to be JSON; send the whole object"}
	case !errors.As(err, &syntax):
		return &InvalidError{Reason: "cannot be read; send a JSON object"}
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &InvalidError{Field: fieldPath(syntax.JSONPointer), Reason: "is given twice; send it once"}
	case !r.isUTF8: // such as UTF-16, which some shells write
		return &InvalidError{Reason: "is not valid UTF-8; send JSON in UTF-8"}
	}
	return &InvalidError{Reason: fmt.Sprintf("is not valid JSON at byte %d: %s", syntax.ByteOffset, cause(syntax.Err))}
}

// cause drops what repeats more than one character of the body, because it may be part of a secret.
func cause(err error) string {
	message := err.Error()
	if strings.HasPrefix(message, "invalid character ") {
		return message
	}
	before, _, quotes := strings.Cut(strings.ReplaceAll(message, `"`, "`"), " `")
	if quotes {
		return before + " in a string"
	}
	return message
}

var kindNames = map[jsontext.Kind]string{
	jsontext.KindString: "a string", jsontext.KindNumber: "a number", jsontext.KindTrue: "a boolean", jsontext.KindFalse: "a boolean",
	jsontext.KindBeginArray: "an array", jsontext.KindBeginObject: "an object", jsontext.KindNull: "null",
}
