// Package match decides which Triggers want a notification, and says why or why not.
package match

import (
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/notification"
)

// Condition is one condition of a Trigger, held against a notification.
type Condition struct {
	// Name is that of the field: branches, deploymentTypes, repositories, expression or paused.
	Name string
	// Held tells whether the condition allows a match.
	Held bool
	// Message says why, or why not, in a sentence.
	Message string
}

// Matcher is the compiled form of a Trigger's conditions.
type Matcher struct {
	trigger *v1alpha1.Trigger
}

// Compile prepares the conditions of a Trigger. The error is a sentence for its Ready condition.
func Compile(t *v1alpha1.Trigger) (*Matcher, error) {
	return &Matcher{trigger: t}, nil
}

// Matches tells whether the Trigger wants the notification.
func (m *Matcher) Matches(n *notification.Notification) bool {
	match := m.trigger.Spec.Match
	types := len(match.DeploymentTypes) == 0 || slices.Contains(match.DeploymentTypes, n.DeploymentType)
	repositories := len(match.Repositories) == 0 || slices.Contains(match.Repositories, n.Repository)
	branches := len(match.Branches) == 0 || slices.Contains(match.Branches, notification.BranchName(n.Branch))
	return !m.trigger.Spec.Paused && match.Expression == "" && types && repositories && branches
}

// Explain holds each condition of the Trigger against the notification.
func (m *Matcher) Explain(*notification.Notification) []Condition {
	return nil
}
