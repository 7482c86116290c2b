package exchange

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Parameters are the parameters of a query, each with its only value.
type Parameters map[string]string

// ParametersOf refuses unknown parameters, because an answer that ignored a misspelled filter would be wrong.
func ParametersOf(rawQuery string, known ...string) (Parameters, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, InvalidRequest("The query of the URL cannot be read. Send it percent-encoded.")
	}
	p := Parameters{}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case !slices.Contains(known, name):
			return nil, InvalidRequest("The query has a parameter that does not exist here. Send only %s.", strings.Join(known, ", "))
		case len(query[name]) > 1 || query[name][0] == "":
			return nil, InvalidRequest("Send %s once and not empty, or leave it out.", name)
		}
		p[name] = strings.Clone(query[name][0])
	}
	return p, nil
}

// Number returns a whole number within bounds, or the default.
func (p Parameters) Number(name string, least, most, otherwise int) (int, error) {
	written, found := p[name]
	if !found {
		return otherwise, nil
	}
	n, err := strconv.Atoi(written)
	if err != nil || n < least || n > most {
		return 0, InvalidRequest("Send %s as a whole number from %d to %d, or leave it out.", name, least, most)
	}
	return n, nil
}

// Boolean is false by default.
func (p Parameters) Boolean(name string) (bool, error) {
	switch p[name] {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	default:
		return false, InvalidRequest("Send %s as true or false, or leave it out.", name)
	}
}

// InvalidCursor is the failure of a cursor that no page had.
func InvalidCursor() error {
	return InvalidRequest("Send the cursor as it was in next of the page before, or none to begin with the first page.")
}

// Flag returns whether one of the values is true. All must be true or false.
func Flag(values []string) (set, ok bool) {
	for _, value := range values {
		if value != "true" && value != "false" {
			return false, false
		}
		set = set || value == "true"
	}
	return set, true
}
