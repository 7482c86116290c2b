package environment

import (
	"maps"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// deployment is a time in which an Environment had a commit of a repository.
type deployment struct {
	repository, sha, branch string
	from, to                time.Time // to is zero: it is there now
}

// deploymentsOf returns what was deployed, by repository and then by time. What is deployed now, and was just before, is known from the
// status, and the rest from the archive, or else from the runs that notifications started. Those are of the Environment, newest first.
func deploymentsOf(e *v1alpha1.Environment, runs []*v1alpha1.Suite, archived []httpapi.Deployment) []deployment {
	byRepository := map[string][]deployment{}
	for _, s := range slices.Backward(runs) {
		d, repository := s.Spec.Deployment, ledger.RepositoryOf(e, s.Spec.Deployment.Repository)
		before := byRepository[repository]
		again := len(before) > 0 && before[len(before)-1].sha == d.SHA
		if again || !s.Origin().IsDeployment() {
			continue
		}
		byRepository[repository] = append(before, deployment{repository: repository, sha: d.SHA, branch: d.Branch, from: s.Received().Time})
	}
	exact := inArchive(archived)
	for _, d := range e.Status.Deployed {
		known := inStatus(d)
		switch own, found := exact[d.Repository]; {
		case len(known) == 0:
		case found:
			own = slices.DeleteFunc(own, func(p deployment) bool { return !p.from.Before(known[0].from) })
			exact[d.Repository] = append(own, known...)
		default:
			byRepository[d.Repository] = append(before(known[0], byRepository[d.Repository]), known...)
		}
	}
	maps.Copy(byRepository, exact)
	var all []deployment
	for _, name := range slices.Sorted(maps.Keys(byRepository)) {
		own := byRepository[name]
		for i := range own[:len(own)-1] {
			if next := own[i+1].from; own[i].to.IsZero() || next.Before(own[i].to) {
				own[i].to = next
			}
		}
		all = append(all, own...)
	}
	return all
}

// inArchive returns the deployments of each repository by time.
func inArchive(newestFirst []httpapi.Deployment) map[string][]deployment {
	all := map[string][]deployment{}
	for _, d := range slices.Backward(newestFirst) {
		is := deployment{repository: d.Repository, sha: d.SHA, branch: d.Branch, from: d.Since}
		if d.Until != nil {
			is.to = *d.Until
		}
		all[d.Repository] = append(all[d.Repository], is)
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
		if last.from.Before(known.from) && (last.sha == "" || !commit.SameSHA(last.sha, known.sha)) {
			break
		}
		all = all[:len(all)-1]
	}
	return all
}
