package match

import (
	"fmt"
	"strconv"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// CriterionResult is the result of trying one condition of a Trigger on a notification.
type CriterionResult struct {
	Name    string // of the field, e.g. branches, expression or paused
	Held    bool   // the condition allows a match
	Message string // a sentence that says why
}

// Explain tries every condition of the Trigger, even after one has failed.
func (m *Matcher) Explain(n *notification.Notification) []CriterionResult {
	a := newActivation(n)
	var results []CriterionResult
	for _, c := range m.criteria {
		results = append(results, CriterionResult{Name: c.field, Held: c.holds(a), Message: c.explain(a)})
	}
	return results
}

// list writes values as "a", "b" or "c", and cuts long lists.
func list(values []string) string {
	var quoted []string
	for _, value := range values[:min(len(values), maxListed)] {
		quoted = append(quoted, strconv.Quote(value))
	}
	if more := len(values) - maxListed; more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	return plaintext.Alternatives(quoted)
}
