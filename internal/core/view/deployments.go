package view

import (
	"maps"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// deployment is a time in which an Environment had a commit of a repository.
type deployment struct {
	repository, sha, branch string
	from, to                time.Time // to is zero: it is there now
}

// deploymentsOf returns what was deployed, by repository and then by time. What is deployed now is known from the status, and what was
// before from the runs that notifications started. Those are of the Environment, newest first.
func deploymentsOf(e *v1alpha1.Environment, runs []*v1alpha1.Suite) []deployment {
	byRepository := map[string][]deployment{}
	for _, s := range slices.Backward(runs) {
		d := s.Spec.Deployment
		before := byRepository[d.Repository]
		again := len(before) > 0 && before[len(before)-1].sha == d.SHA
		if again || s.Annotations[v1alpha1.AnnotationRerunBy] != "" {
			continue
		}
		byRepository[d.Repository] = append(before, deployment{repository: d.Repository, sha: d.SHA, branch: d.Branch, from: s.Received().Time})
	}
	for _, d := range e.Status.Deployed {
		if d.Since != nil {
			byRepository[d.Repository] = append(before(d, byRepository[d.Repository]),
				deployment{repository: d.Repository, sha: d.SHA, branch: d.Branch, from: d.Since.Time})
		}
	}
	var all []deployment
	for _, name := range slices.Sorted(maps.Keys(byRepository)) {
		own := byRepository[name]
		for i := range own[:len(own)-1] {
			own[i].to = own[i+1].from
		}
		all = append(all, own...)
	}
	return all
}

// before returns the deployments before the present one. A notification may precede the end of its rollout.
func before(now v1alpha1.Deployed, all []deployment) []deployment {
	for len(all) > 0 {
		last := all[len(all)-1]
		if last.from.Before(now.Since.Time) && !sameCommit(last.sha, now.SHA) {
			break
		}
		all = all[:len(all)-1]
	}
	return all
}
