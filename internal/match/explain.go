package match

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/internal/notification"
)

// CriterionResult is what became of one condition of a Trigger for a notification.
type CriterionResult struct {
	// Name is that of the field, e.g. branches, expression or paused.
	Name string
	// Held reports whether the condition allows a match.
	Held bool
	// Message says why, or why not, in a sentence.
	Message string
}

// Explain tries each condition that the Trigger gives, whatever the others say. The Trigger matches if
// all of them hold; it gives none if it wants every notification.
func (m *Matcher) Explain(n *notification.Notification) []CriterionResult {
	a := newActivation(n)
	var results []CriterionResult
	for _, c := range m.criteria {
		results = append(results, CriterionResult{Name: c.field, Held: c.Holds(a), Message: c.Explain(a)})
	}
	return results
}

// list is "a", "b" or "c", cut where it is long.
func list(values []string) string {
	var quoted []string
	for _, value := range values[:min(len(values), maxListed)] {
		quoted = append(quoted, quote(value))
	}
	if more := len(values) - maxListed; more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	last := len(quoted) - 1
	if last == 0 {
		return quoted[0]
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// quote makes a value fit for a log: it may be anything.
func quote(value string) string {
	return strconv.Quote(value)
}
