package match

import (
	"fmt"
	"slices"
	"strings"
)

// anyOf holds where a field of the notification equals one of the values that the Trigger asks for. An
// absent field equals none.
type anyOf struct {
	// field is its name in the request.
	field  string
	value  func(*activation) string
	wanted []string
	key    keyField
}

// orNone is the criterion, unless the Trigger asks for nothing.
func (c *anyOf) orNone() (Criterion, error) {
	if len(c.wanted) == 0 {
		return nil, nil
	}
	return c, nil
}

// Holds implements Criterion.
func (c *anyOf) Holds(a *activation) bool {
	value := c.value(a)
	return value != "" && slices.Contains(c.wanted, value)
}

// Explain implements Criterion.
func (c *anyOf) Explain(a *activation) string {
	value := c.value(a)
	switch {
	case value == "":
		return fmt.Sprintf("The notification has no %s, and the Trigger asks for %s.", c.field, list(c.wanted))
	case c.Holds(a):
		return fmt.Sprintf("The %s is %s.", c.field, quote(value))
	default:
		text := fmt.Sprintf("The %s is %s, and the Trigger asks for %s.", c.field, quote(value), list(c.wanted))
		if i := slices.IndexFunc(c.wanted, func(wanted string) bool { return strings.EqualFold(wanted, value) }); i >= 0 {
			text += fmt.Sprintf(" Case matters: did you mean %s?", quote(c.wanted[i]))
		}
		return text
	}
}

// Weight implements Criterion.
func (c *anyOf) Weight() int { return 0 }

// Keys implements Criterion.
func (c *anyOf) Keys() [][]bucketKey {
	keys := make([]bucketKey, 0, len(c.wanted))
	for _, value := range c.wanted {
		keys = append(keys, bucketKey{field: c.key, value: value})
	}
	return [][]bucketKey{keys}
}
