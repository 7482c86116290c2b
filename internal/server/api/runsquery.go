package api

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

type parameters map[string]string

// parametersOf refuses unknown parameters, because an answer that ignored a misspelled filter would be wrong.
func parametersOf(rawQuery string, known ...string) (parameters, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, invalidRequest("The query of the URL cannot be read. Send it percent-encoded.")
	}
	p := parameters{}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case !slices.Contains(known, name):
			return nil, invalidRequest("The query has a parameter that does not exist here. Send only %s.", strings.Join(known, ", "))
		case len(query[name]) > 1 || query[name][0] == "":
			return nil, invalidRequest("Send %s once and not empty, or leave it out.", name)
		}
		p[name] = strings.Clone(query[name][0])
	}
	return p, nil
}

func invalidRequest(format string, args ...any) error {
	return &failure{code: "invalid_request", message: fmt.Sprintf(format, args...)}
}

// number returns a whole number within bounds, or the default.
func (p parameters) number(name string, least, most, otherwise int) (int, error) {
	written, found := p[name]
	if !found {
		return otherwise, nil
	}
	n, err := strconv.Atoi(written)
	if err != nil || n < least || n > most {
		return 0, invalidRequest("Send %s as a whole number from %d to %d, or leave it out.", name, least, most)
	}
	return n, nil
}

func (p parameters) boolean(name string) (bool, error) {
	switch p[name] {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	default:
		return false, invalidRequest("Send %s as true or false, or leave it out.", name)
	}
}

func runsQueryOf(rawQuery string) (q runs.Query, err error) {
	p, err := parametersOf(rawQuery, "trigger", "environment", "branch", "sha", "state", "limit", "cursor")
	if err != nil {
		return q, err
	}
	filter := runs.Filter{Trigger: p["trigger"], Environment: p["environment"], Branch: p["branch"], SHA: strings.TrimSpace(p["sha"]), State: p["state"]}
	if state := filter.State; state != "" && !slices.Contains(v1alpha1.States(), state) {
		return q, invalidRequest("There is no such state. Send one of %s.", strings.Join(v1alpha1.States(), ", "))
	}
	q.Matches = filter.Matches
	if q.Limit, err = p.number("limit", 1, maxRuns, defaultRuns); err != nil {
		return q, err
	}
	if cursor, found := p["cursor"]; found {
		before, valid := runs.ParseCursor(cursor)
		if !valid {
			return q, invalidCursor()
		}
		q.Before = before
	}
	return q, nil
}

func invalidCursor() error {
	return invalidRequest("Send the cursor as it was in next of the page before, or none to begin with the first page.")
}
