package delegation

import (
	"cmp"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
)

// Target is another cluster with Environments of a team.
type Target struct {
	Cluster      string
	Environments []string // ordered
}

// Targets returns the clusters of the Environments that have one, ordered by name.
func Targets(all []*v1alpha1.Environment) []Target {
	return targets(all, func(*v1alpha1.Environment) bool { return true })
}

// TargetsOf returns those to which a notification of a deployment type is handed on, with the Environments that it may be about.
func TargetsOf(all []*v1alpha1.Environment, deploymentType string) []Target {
	return targets(all, func(e *v1alpha1.Environment) bool { return grant.Matches(e.Spec.DeploymentTypes, deploymentType) })
}

func targets(all []*v1alpha1.Environment, concerned func(*v1alpha1.Environment) bool) (found []Target) {
	byCluster := map[string][]string{}
	for _, e := range all {
		if e.Spec.Cluster != "" && e.DeletionTimestamp == nil && concerned(e) {
			byCluster[e.Spec.Cluster] = append(byCluster[e.Spec.Cluster], e.Name)
		}
	}
	for cluster, environments := range byCluster {
		slices.Sort(environments)
		found = append(found, Target{cluster, environments})
	}
	slices.SortFunc(found, func(a, b Target) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return found
}

// Withheld returns the names of the Environments that do not take notifications of a deployment type, ordered.
func Withheld(all []*v1alpha1.Environment, deploymentType string) (names []string) {
	for _, e := range all {
		if !grant.Matches(e.Spec.DeploymentTypes, deploymentType) {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}
