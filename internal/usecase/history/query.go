package history

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

// The days of an answer.
const (
	DefaultDays = 30
	MaxDays     = 90
)

// Query selects runs, and a page of a list.
type Query struct {
	Days                 int // 0: DefaultDays
	Trigger, Environment string
	Search               string // a part of the names of tests; "": those that failed or were repeated
	Limit                int
	After                string // cursor
}

func (q Query) days() int {
	if q.Days <= 0 {
		return DefaultDays
	}
	return min(q.Days, MaxDays)
}

func (q Query) selection() history.Selection {
	return history.Selection{Trigger: q.Trigger, Environment: q.Environment}
}

// matches ignores case.
func (q Query) matches(name string) bool {
	return q.Search == "" || strings.Contains(strings.ToLower(name), strings.ToLower(q.Search))
}

// offset of a cursor, which is opaque to clients.
func (q Query) offset() int {
	text, err := base64.RawURLEncoding.DecodeString(q.After)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

func cursor(offset int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(offset)))
}

// ValidCursor reports whether Query.After can be a cursor.
func ValidCursor(text string) bool { return cursor(Query{After: text}.offset()) == text }
