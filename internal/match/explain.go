package match

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/internal/notification"
)

// Condition is one condition of a Trigger, matched against a notification.
type Condition struct {
	// Name is that of the field: branches, deploymentTypes, repositories, expression or paused.
	Name string
	// Held reports whether the condition allows a match.
	Held bool
	// Message says why, or why not, in a sentence.
	Message string
}

// Explain holds each condition that the Trigger gives against the notification, whatever the others
// say. The Trigger matches if all are held; it gives none if it wants every notification.
func (m *Matcher) Explain(n *notification.Notification) []Condition {
	s := newSubject(n)
	var conditions []Condition
	if m.paused {
		conditions = append(conditions, Condition{Name: pausedCondition, Message: "The Trigger is paused; it matches nothing until spec.paused is false."})
	}
	if m.branches != nil {
		conditions = append(conditions, m.branches.explain(s.branch))
	}
	if len(m.deploymentTypes) > 0 {
		conditions = append(conditions, explainAnyOf(deploymentTypesCondition, "deployment_type", s.DeploymentType, m.deploymentTypes))
	}
	if len(m.repositories) > 0 {
		conditions = append(conditions, explainAnyOf(repositoriesCondition, "repository", s.Repository, m.repositories))
	}
	if m.expression != nil {
		conditions = append(conditions, m.expression.explain(s))
	}
	return conditions
}

func (b *branchGlobs) explain(branch string) Condition {
	c := Condition{Name: branchesCondition, Held: b.match(branch)}
	included, excluded := b.include.matching(branch), b.exclude.matching(branch)
	switch {
	case branch == "":
		c.Message = "The notification names no branch, and the Trigger asks for one."
	case included == nil && len(b.include) > 0:
		c.Message = fmt.Sprintf("The branch %s matches none of %s.", quote(branch), list(b.include.patterns()))
	case excluded != nil:
		c.Message = fmt.Sprintf("The branch %s is excluded by %s.", quote(branch), quote("!"+excluded.pattern))
	case included != nil:
		c.Message = fmt.Sprintf("The branch %s matches %s.", quote(branch), quote(included.pattern))
	default:
		c.Message = fmt.Sprintf("The branch %s is none of the excluded ones.", quote(branch))
	}
	return c
}

func explainAnyOf(name, field, value string, wanted []string) Condition {
	c := Condition{Name: name, Held: isAnyOf(value, wanted)}
	switch {
	case value == "":
		c.Message = fmt.Sprintf("The notification has no %s, and the Trigger asks for %s.", field, list(wanted))
	case c.Held:
		c.Message = fmt.Sprintf("The %s is %s.", field, quote(value))
	default:
		c.Message = fmt.Sprintf("The %s is %s, and the Trigger asks for %s.", field, quote(value), list(wanted))
	}
	return c
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
