package jwt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxMembers bounds what is kept of a token. GitHub's have 30 claims, and GitLab's 40.
	maxMembers = 256

	// maxSeconds is the end of the year 9999, after which Go cannot print a time.
	maxSeconds = 253402300799
)

// Object is a JSON object, such as the header of a token or its claims. A member that is null says the same as a missing one, except to
// Has.
type Object struct{ members map[string]jsontext.Value }

// ReadObject returns an error unless the content is one JSON object.
func ReadObject(content []byte) (Object, error) {
	d := jsontext.NewDecoder(bytes.NewReader(content))
	if d.PeekKind() != '{' {
		return Object{}, errors.New("it is no JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return Object{}, err
	}
	o := Object{members: map[string]jsontext.Value{}}
	for d.PeekKind() != '}' {
		if err := o.readMember(d); err != nil {
			return Object{}, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return Object{}, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return Object{}, errors.New("something follows the JSON object")
	}
	return o, nil
}

func (o Object) readMember(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	value, err := d.ReadValue()
	switch {
	case err != nil:
		return err
	case len(o.members) >= maxMembers:
		return fmt.Errorf("more than %d members", maxMembers)
	}
	o.members[name] = value.Clone()
	return nil
}

// All are the members, as they were written. The values must not be changed.
func (o Object) All() iter.Seq2[string, jsontext.Value] { return maps.All(o.members) }

// Has reports whether a member is there, also if it is null.
func (o Object) Has(name string) bool {
	_, found := o.members[name]
	return found
}

// Kind returns the kind of a member, as jsontext names it; 0: it is missing or null.
func (o Object) Kind(name string) jsontext.Kind {
	if kind := o.members[name].Kind(); kind != 'n' {
		return kind
	}
	return 0
}

// Text returns a member that is a string. It is valid if it is a string, or not there.
func (o Object) Text(name string) (text string, valid bool) {
	switch o.Kind(name) {
	case 0:
		return "", true
	case '"':
		unquoted, err := jsontext.AppendUnquote(nil, o.members[name])
		return string(unquoted), err == nil
	default:
		return "", false
	}
}

// Audiences returns the values of the claim aud. They are valid if it is a string, a list of strings, or not there.
func (o Object) Audiences() (audiences []string, valid bool) {
	switch o.Kind("aud") {
	case 0:
		return nil, true
	case '"':
		one, valid := o.Text("aud")
		return []string{one}, valid
	case '[':
		return o.list("aud")
	default:
		return nil, false
	}
}

func (o Object) list(name string) (texts []string, valid bool) {
	d := jsontext.NewDecoder(bytes.NewReader(o.members[name]))
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	for d.PeekKind() != ']' {
		token, err := d.ReadToken()
		if err != nil || token.Kind() != '"' {
			return nil, false
		}
		texts = append(texts, token.String())
	}
	return texts, true
}

// Seconds returns a number, which is infinite if no float has it. It is valid if it is a number, or not there.
func (o Object) Seconds(name string) (seconds float64, valid bool) {
	switch o.Kind(name) {
	case 0:
		return 0, true
	case '0':
		seconds, _ = strconv.ParseFloat(string(o.members[name]), 64)
		return seconds, true
	default:
		return 0, false
	}
}

// Time returns a time in seconds since 1970, perhaps with a fraction. It is not valid if no calendar has it, or if it is not there.
func (o Object) Time(name string) (t time.Time, valid bool) {
	seconds, valid := o.Seconds(name)
	if !valid || o.Kind(name) == 0 || seconds < 0 || seconds > maxSeconds {
		return time.Time{}, false
	}
	integer, fraction := math.Modf(seconds)
	return time.Unix(int64(integer), int64(fraction*1e9)), true
}
