package match

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// AnyType reports whether a Trigger takes notifications of every deployment type, and so those of deployments to other Environments.
func AnyType(t *v1alpha1.Trigger) bool {
	m := t.Spec.Match
	onlyScheduled := t.Spec.Schedule != nil && t.Spec.Schedule.Only
	tellsApart := len(m.DeploymentTypes) > 0 || m.PullRequest == v1alpha1.PullRequestOnly || strings.Contains(m.Expression, "deployment_")
	return !t.Spec.Paused && !onlyScheduled && !tellsApart
}

// AnyTypeWarning returns sentences about a Trigger that also runs for deployments to other lasting Environments of its namespace, or "".
func AnyTypeWarning(t *v1alpha1.Trigger, environments []v1alpha1.Environment) string {
	if !AnyType(t) {
		return ""
	}
	var others []string
	for i := range environments {
		e := &environments[i]
		if e.Namespace == t.Namespace && e.Name != t.Spec.Environment && e.Spec.Ephemeral == nil {
			others = append(others, e.Name)
		}
	}
	if len(others) == 0 {
		return ""
	}
	slices.Sort(others)
	others = slices.Compact(others)
	named := strings.Join(others[:min(len(others), maxListed)], ", ")
	if len(others) > maxListed { // a number would change the status of all Triggers with each Environment
		named += " and others"
	}
	return fmt.Sprintf("It also runs when a deployment to %s is notified: list the deployment types of %s in match.deploymentTypes.", named,
		t.Spec.Environment)
}
