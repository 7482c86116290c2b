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

// deploymentsOf returns what was deployed, by repository and then by time. What is deployed now, and was just before, is known from the
// status, and the rest from the runs that notifications started. Those are of the Environment, newest first.
func deploymentsOf(e *v1alpha1.Environment, runs []*v1alpha1.Suite) []deployment {
	byRepository := map[string][]deployment{}
	for _, s := range slices.Backward(runs) {
		d, repository := s.Spec.Deployment, repositoryIn(e, s)
		before := byRepository[repository]
		again := len(before) > 0 && before[len(before)-1].sha == d.SHA
		if again || s.StartedAgain() {
			continue
		}
		byRepository[repository] = append(before, deployment{repository: repository, sha: d.SHA, branch: d.Branch, from: s.Received().Time})
	}
	for _, d := range e.Status.Deployed {
		if known := inStatus(d); len(known) > 0 {
			byRepository[d.Repository] = append(before(known[0], byRepository[d.Repository]), known...)
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

// inStatus returns the deployment before the present one, if that is known, and the present one.
func inStatus(d v1alpha1.Deployed) (known []deployment) {
	if d.Since == nil {
		return nil
	}
	if p := d.Previous; p != nil && p.Since != nil {
		known = append(known, deployment{repository: d.Repository, sha: p.SHA, from: p.Since.Time})
	}
	return append(known, deployment{repository: d.Repository, sha: d.SHA, branch: d.Branch, from: d.Since.Time})
}

// before returns the deployments before a known one. A notification may precede the end of its rollout.
func before(known deployment, all []deployment) []deployment {
	for len(all) > 0 {
		last := all[len(all)-1]
		if last.from.Before(known.from) && !sameCommit(last.sha, known.sha) {
			break
		}
		all = all[:len(all)-1]
	}
	return all
}
