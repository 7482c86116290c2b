package workloads

import (
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// Image is what a container of a workload ran from the start of a run to its end.
type Image struct {
	Kind, Namespace, Name string // of the workload
	Container             string
	Digest                string // such as sha256:...
}

// Images returns the images of a deployment that ran from the start of a run to its end, as far as all pods agreed on them. A run also
// meets images of other repositories and commits. Its result says nothing about these: they may be broken, or sound, without it.
func Images(u *v1alpha1.UnderTest, d v1alpha1.Deployment) (all []Image) {
	if u == nil || u.Changed != "" || d.Repository == "" && severalRepositories(u.Workloads) {
		return nil
	}
	for _, w := range ownWorkloads(u.Workloads, d) {
		start, end := version(w.Start), version(w.End)
		if !start.RolledOut || !end.RolledOut || changeOf(w) != "" {
			continue
		}
		for _, image := range start.Digests {
			if slices.Contains(end.Digests, image) {
				all = append(all, Image{w.Kind, w.Namespace, w.Name, image.Container, image.Digest})
			}
		}
	}
	return all
}

// ownWorkloads are the workloads of the deployed service, or else of the whole repository. They name no other commit.
func ownWorkloads(all []v1alpha1.TestedWorkload, d v1alpha1.Deployment) (own []v1alpha1.TestedWorkload) {
	part := commit.Of(d).Part
	var services []string
	for _, w := range all {
		if d.Repository == "" || commit.SameRepository(w.Repository, d.Repository) {
			own, services = append(own, w), append(services, w.Service)
		}
	}
	speaker := part.Speaker(services)
	return slices.DeleteFunc(own, func(w v1alpha1.TestedWorkload) bool {
		sha := version(w.Start).SHA
		another := isCommitOrShort(sha) && d.SHA != "" && !commit.SameSHA(sha, d.SHA)
		return another || part.Service != "" && w.Service != speaker
	})
}
