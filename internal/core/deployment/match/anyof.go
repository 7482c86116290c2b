package match

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// anyOf holds if a field of the notification has one of the values. An absent field has none.
type anyOf struct {
	simple
	field  string // in the request
	value  func(*activation) string
	values []string
	key    keyField

	canonical func(string) string // of a value, as it is compared; nil: exactly
	wanted    []string            // the values, as they are compared
}

func (c *anyOf) compile() (criterion, error) {
	if len(c.values) == 0 {
		return nil, nil
	}
	for _, value := range c.values {
		c.wanted = append(c.wanted, c.compared(value))
	}
	return c, nil
}

func (c *anyOf) compared(value string) string {
	if c.canonical == nil {
		return value
	}
	return c.canonical(value)
}

func (c *anyOf) holds(a *activation) bool {
	value := c.value(a)
	return value != "" && slices.Contains(c.wanted, c.compared(value))
}

func (c *anyOf) explain(a *activation) string {
	switch {
	case c.value(a) == "":
		return fmt.Sprintf("The notification has no %s, and the Trigger asks for %s.", c.field, list(c.values))
	case c.holds(a):
		return fmt.Sprintf("The %s is %q.", c.field, c.value(a))
	default:
		text := fmt.Sprintf("The %s is %q, and the Trigger asks for %s.", c.field, c.value(a), list(c.values))
		i := slices.IndexFunc(c.values, func(v string) bool { return strings.EqualFold(v, c.value(a)) })
		if i >= 0 && c.canonical == nil {
			text += fmt.Sprintf(" Case matters: did you mean %q?", c.values[i])
		}
		return text
	}
}

func (c *anyOf) keys() [][]bucketKey {
	keys := make([]bucketKey, 0, len(c.wanted))
	for _, value := range c.wanted {
		keys = append(keys, bucketKey{field: c.key, value: value})
	}
	return [][]bucketKey{keys}
}

func compileDeploymentTypes(spec *v1alpha1.TriggerSpec) (criterion, error) {
	value := func(a *activation) string { return a.DeploymentType }
	return (&anyOf{field: "deployment_type", value: value, values: spec.Match.DeploymentTypes, key: deploymentTypeKey}).compile()
}

func compileServices(spec *v1alpha1.TriggerSpec) (criterion, error) {
	value := func(a *activation) string { return a.Service }
	return (&anyOf{field: "service", value: value, values: spec.Match.Services, key: serviceKey}).compile()
}

func compileRepositories(spec *v1alpha1.TriggerSpec) (criterion, error) {
	value := func(a *activation) string { return a.Repository }
	c := anyOf{field: "repository", value: value, values: spec.Match.Repositories, key: repositoryKey, canonical: commit.RepositoryKey}
	return c.compile()
}
