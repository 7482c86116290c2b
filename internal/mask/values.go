package mask

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const (
	// minValue is the shortest value that is looked for, in bytes: a shorter one is a part of many words.
	minValue = 6

	// maxValue bounds a value that is looked for, in bytes. A longer one is looked for in parts.
	maxValue = 1 << 10

	// maxValues bounds the values that are looked for: each costs time for each byte of a log.
	maxValues = 64

	// chunk is how much of a stream is in memory, in bytes.
	chunk = 32 << 10
)

// Values are secret texts, the longest first, and none with a line break: a log has lines.
type Values []string

// Of are the values that Variables masks. A value of several lines, such as a private key, becomes one for each.
func Of(variables v1alpha1.Variables) Values {
	var all []string
	for name, value := range variables {
		for _, secret := range secrets(name, value) {
			for line := range strings.Lines(secret) {
				all = append(all, parts(strings.TrimSpace(line))...)
			}
		}
	}
	return NewValues(all)
}

// secrets are the parts of a value that Variables masks.
func secrets(name, value string) []string {
	if isSecret(name, value) {
		return []string{value}
	}
	var all []string
	for _, found := range password.FindAllStringSubmatch(value, -1) {
		all = append(all, strings.TrimSuffix(strings.TrimPrefix(found[0], found[1]), "@"))
	}
	return all
}

func parts(value string) (all []string) {
	for len(value) > maxValue {
		all = append(all, value[:maxValue])
		value = value[maxValue:]
	}
	return append(all, value)
}

// NewValues are those of the texts that are long enough to be looked for.
func NewValues(texts []string) Values {
	all := slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
		return len(text) < minValue || len(text) > maxValue || strings.ContainsAny(text, "\r\n")
	})
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	all = slices.Compact(all)
	return Values(all[:min(len(all), maxValues)])
}

// Text masks the values in a text.
func (v Values) Text(text string) string {
	if !slices.ContainsFunc(v, func(value string) bool { return strings.Contains(text, value) }) {
		return text
	}
	masked, _ := v.replace(nil, []byte(text), true)
	return string(masked)
}

// Reader masks the values in a stream. It delays no more than the beginning of a value at the end of what has come. If the stream
// breaks there, that is left out.
func (v Values) Reader(in io.Reader) io.Reader {
	if len(v) == 0 {
		return in
	}
	return &reader{in: in, values: v, buffer: make([]byte, chunk)}
}

type reader struct {
	in     io.Reader
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
		n, err := r.in.Read(r.buffer)
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

// replace appends a text with masks to another one. Unless the text is at its end, it leaves what may be the beginning of a value,
// and returns how much it has used.
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

// index is beyond the text where there is no value.
func index(text []byte, value string, from int) int {
	if i := bytes.Index(text[from:], []byte(value)); i >= 0 {
		return from + i
	}
	return len(text)
}

// beginning is where at the end of a text a value may begin of which the rest is still to come.
func (v Values) beginning(text []byte) int {
	if len(v) == 0 {
		return len(text)
	}
	longest := len(v[0]) - 1
	for i := max(0, len(text)-longest); i < len(text); i++ {
		for _, value := range v {
			if rest := text[i:]; value[0] == rest[0] && len(rest) < len(value) && value[:len(rest)] == string(rest) {
				return i
			}
		}
	}
	return len(text)
}
