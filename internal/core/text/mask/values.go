package mask

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const (
	minValue  = 6        // the shortest masked value, in bytes: shorter ones are parts of many words
	maxValue  = 256      // bounds a value in bytes, because finding its beginning takes time; longer ones are split
	maxValues = 64       // bounds the values, because each costs time for every byte of a log; few notifications have five
	chunk     = 32 << 10 // bounds the part of a stream in memory, in bytes
)

// Values are secret texts, the longest first, and none with a line break: a log has lines.
type Values []string

// Of returns the values that Variables masks, split into lines. It takes them in turn, so that a long key leaves room for a password.
func Of(variables v1alpha1.Variables) Values {
	var all [][]string // of each variable
	longest := 0
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		var found []string
		for _, secret := range secrets(name, variables[name]) {
			for _, line := range strings.FieldsFunc(secret, func(r rune) bool { return r == '\n' || r == '\r' }) {
				found = append(found, parts(strings.TrimSpace(line))...)
			}
		}
		all = append(all, found)
		longest = max(longest, len(found))
	}
	var inTurn []string
	for i := range longest {
		for _, found := range all {
			if i < len(found) {
				inTurn = append(inTurn, found[i])
			}
		}
	}
	return NewValues(inTurn)
}

// secrets also returns the parts of a value that Variables masks: a program may print the token of a header alone.
func secrets(name, value string) []string {
	var all []string
	if isSecret(name, value) {
		all = append(all, value)
	}
	all = append(all, secretValue.FindAllString(value, -1)...)
	for _, found := range password.FindAllStringSubmatch(value, -1) {
		all = append(all, strings.TrimSuffix(strings.TrimPrefix(found[0], found[1]), "@"))
	}
	return all
}

// parts splits a value between characters. The last part overlaps, so that no short rest is left.
func parts(value string) (all []string) {
	for len(value) > maxValue {
		part := strings.ToValidUTF8(value[:maxValue], "")
		all = append(all, part)
		value = value[max(1, min(len(part), len(value)-maxValue)):]
		for len(value) > 0 && !utf8.RuneStart(value[0]) {
			value = value[1:]
		}
	}
	return append(all, value)
}

// NewValues returns the first maxValues texts that can be masked.
func NewValues(texts []string) Values {
	var all Values
	for _, text := range texts {
		if len(text) >= minValue && len(text) <= maxValue && !strings.ContainsAny(text, "\r\n") && !slices.Contains(all, text) &&
			len(all) < maxValues {
			all = append(all, text)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return all
}

// Text masks the values in a text.
func (v Values) Text(text string) string {
	if !slices.ContainsFunc(v, func(value string) bool { return strings.Contains(text, value) }) {
		return text
	}
	masked, _ := v.replace(nil, []byte(text), true)
	return string(masked)
}

// Beginning masks the values in the beginning of a longer text, and drops what may begin a value at its end.
func (v Values) Beginning(text string) string {
	masked, _ := v.replace(nil, []byte(text), false)
	return string(masked)
}

// Reader masks the values in a stream. It holds back only what may begin a value, and drops that if the stream breaks off.
func (v Values) Reader(input io.Reader) io.Reader {
	if len(v) == 0 {
		return input
	}
	return &reader{input: input, values: v, buffer: make([]byte, chunk)}
}

type reader struct {
	input  io.Reader
	values Values
	buffer []byte
	rest   []byte // that may be the beginning of a value
	masked []byte
	ready  []byte // of masked
	err    error
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		n, err := r.input.Read(r.buffer)
		r.err = err
		r.rest = append(r.rest, r.buffer[:n]...)
		masked, used := r.values.replace(r.masked[:0], r.rest, errors.Is(err, io.EOF))
		r.masked, r.ready = masked, masked
		r.rest = append(r.rest[:0], r.rest[used:]...)
		if n == 0 && err == nil {
			return 0, nil
		}
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// replace appends the masked text, and returns how much it used: unless end is set, it stops before what may begin a value.
func (v Values) replace(to, text []byte, end bool) (masked []byte, used int) {
	stop := len(text)
	if !end {
		stop = v.beginning(text)
	}
	next := make([]int, len(v)) // where each value is next
	for i := range v {
		next[i] = index(text, v[i], 0)
	}
	for {
		first := -1
		for i := range v {
			if next[i] < used {
				next[i] = index(text, v[i], used)
			}
			if next[i] < stop && (first < 0 || next[i] < next[first]) {
				first = i
			}
		}
		if first < 0 {
			stop = max(stop, used) // a value may reach over the beginning of another one
			return append(to, text[used:stop]...), stop
		}
		to = append(append(to, text[used:next[first]]...), mask...)
		used = next[first] + len(v[first])
	}
}

func index(text []byte, value string, from int) int {
	if i := bytes.Index(text[from:], []byte(value)); i >= 0 {
		return from + i
	}
	return len(text)
}

// beginning returns where an incomplete value may begin at the end of a text, or its length.
func (v Values) beginning(text []byte) int {
	if len(v) == 0 {
		return len(text)
	}
	longest := len(v[0]) - 1
	line := bytes.LastIndexByte(text, '\n') + 1 // no value has a line break
	for i := max(line, len(text)-longest); i < len(text); i++ {
		for _, value := range v {
			if rest := text[i:]; value[0] == rest[0] && len(rest) < len(value) && value[:len(rest)] == string(rest) {
				return i
			}
		}
	}
	return len(text)
}
