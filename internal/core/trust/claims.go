package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/postflight-dev/postflight/internal/core/match"
)

// Claims are those of a token, as it was signed.
type Claims struct {
	values map[string]jsontext.Value // without null, which says the same as a missing claim
	text   map[string]string         // as expressions see them: strings, and everything else as compact JSON
}

// ParseClaims reads the payload of a token. Members with the same name are an error, at any depth: readers differ in which one they take.
func ParseClaims(payload []byte) (*Claims, error) {
	d := jsontext.NewDecoder(bytes.NewReader(payload))
	if d.PeekKind() != '{' {
		return nil, errors.New("the claims are no JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	c := &Claims{values: map[string]jsontext.Value{}, text: map[string]string{}}
	for d.PeekKind() != '}' {
		if err := c.readMember(d); err != nil {
			return nil, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the claims")
	}
	return c, nil
}

func (c *Claims) readMember(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	value, err := d.ReadValue()
	switch {
	case err != nil:
		return err
	case len(name) > match.MaxClaimNameBytes || len(value) > match.MaxClaimBytes:
		return errors.New("a claim is too long")
	case len(c.text) >= match.MaxClaims:
		return fmt.Errorf("more than %d claims", match.MaxClaims)
	case value.Kind() == 'n':
		return nil
	}
	value = value.Clone()
	if err := value.Compact(); err != nil {
		return err
	}
	c.values[name], c.text[name] = value, textOf(value)
	return nil
}

func textOf(value jsontext.Value) string {
	if value.Kind() != '"' {
		return string(value)
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil { // the decoder has accepted it
		return ""
	}
	return string(text)
}

// String returns a claim that is a string, or "".
func (c *Claims) String(name string) string {
	if c.values[name].Kind() != '"' {
		return ""
	}
	return c.text[name]
}

// scalar returns the text of a string, number or boolean.
func (c *Claims) scalar(name string) (string, bool) {
	switch c.values[name].Kind() {
	case '"', '0', 't', 'f':
		return c.text[name], true
	}
	return "", false
}

// Audiences are those of the claim aud, which is a string or a list of strings. Anything else has none.
func (c *Claims) Audiences() (audiences []string) {
	value := c.values["aud"]
	if value.Kind() == '"' {
		return []string{c.text["aud"]}
	}
	d := jsontext.NewDecoder(bytes.NewReader(value))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '[' {
		return nil
	}
	for d.PeekKind() != ']' {
		token, err := d.ReadToken()
		if err != nil || token.Kind() != '"' {
			return nil
		}
		audiences = append(audiences, token.String())
	}
	return audiences
}

// moment returns a time in seconds since 1970, perhaps with a fraction.
func (c *Claims) moment(name string) (t time.Time, present, valid bool) {
	value, present := c.values[name]
	if !present {
		return time.Time{}, false, false
	}
	seconds, err := strconv.ParseFloat(string(value), 64)
	if value.Kind() != '0' || err != nil || seconds < 0 || seconds > maxSeconds {
		return time.Time{}, true, false
	}
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(fraction*1e9)), true, true
}

// Expires is the time of the claim exp.
func (c *Claims) Expires() time.Time {
	t, _, _ := c.moment("exp")
	return t
}

// maxSeconds is the end of the year 9999, after which Go cannot print a time.
const maxSeconds = 253402300799

// names are those of all claims, sorted.
func (c *Claims) names() []string { return slices.Sorted(maps.Keys(c.text)) }
