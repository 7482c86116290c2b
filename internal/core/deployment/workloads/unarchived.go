package workloads

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// maxUnarchived is the bound of the status: a night in which a store is unavailable has fewer deployments.
const maxUnarchived = 50

// Unarchived returns the deployments that end with a change of the status, unless the archive is known to have them. They are written
// together with what replaces them, so that none is lost, whenever the manager ends.
func Unarchived(before, after *v1alpha1.Environment, archived func(v1alpha1.EarlierDeployment) bool) (all []v1alpha1.EarlierDeployment) {
	for _, e := range before.Status.Unarchived {
		if !archived(e) {
			all = append(all, e)
		}
	}
	for _, d := range before.Status.Deployed {
		e, begun := earlierOf(d)
		if begun && !continues(e, after.Status.Deployed) && !archived(e) {
			all = append(all, e)
		}
	}
	for len(all) > maxUnarchived {
		all = merged(all)
	}
	return all
}

// earlierOf returns a deployment as it is once it is over, and whether there is one.
func earlierOf(d v1alpha1.Deployed) (v1alpha1.EarlierDeployment, bool) {
	since, begun := ledger.Begun(d)
	return v1alpha1.EarlierDeployment{
		Repository: d.Repository, Service: d.Service, SHA: d.SHA, Branch: d.Branch, DeploymentType: d.DeploymentType,
		Since: metav1.NewTime(since), ReportedBy: d.ReportedBy,
	}, begun
}

func continues(e v1alpha1.EarlierDeployment, all []v1alpha1.Deployed) bool {
	return slices.ContainsFunc(all, func(d v1alpha1.Deployed) bool {
		current, begun := earlierOf(d)
		return begun && partOf(current) == partOf(e) && current.SHA == e.SHA && current.Since.Equal(&e.Since)
	})
}

func partOf(e v1alpha1.EarlierDeployment) commit.Part { return commit.PartOf(e.Repository, e.Service) }

// merged makes one of the two newest deployments of the part that has the most. If each has only one, the oldest is lost.
func merged(all []v1alpha1.EarlierDeployment) []v1alpha1.EarlierDeployment {
	newest := map[commit.Part][]int{}
	for i, e := range all {
		newest[partOf(e)] = append(newest[partOf(e)], i)
	}
	var most []int
	for _, own := range newest {
		if len(own) > len(most) || len(own) == len(most) && own[0] < most[0] {
			most = own
		}
	}
	if len(most) < 2 {
		return all[1:]
	}
	last, before := most[len(most)-1], most[len(most)-2]
	all = slices.Clone(all)
	kept := all[before]
	all[before] = v1alpha1.EarlierDeployment{Repository: kept.Repository, Service: kept.Service, Since: kept.Since, Unknown: true}
	return slices.Delete(all, last, last+1)
}
