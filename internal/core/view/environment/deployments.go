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
	byRepository := announced(e, runs)
	exact := inArchive(archived)
	for _, d := range e.Status.Deployed {
		key, known := commit.RepositoryKey(d.Repository), inStatus(d)
		own, found := exact[key]
		switch {
		case len(known) == 0:
		case found:
			own = slices.DeleteFunc(own, func(p deployment) bool { return !p.from.Before(known[0].from) })
			exact[key] = append(own, known...)
		default:
			byRepository[key] = append(before(known[0], byRepository[key]), known...)
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

// announced returns what the runs show that deployments started or found. Consecutive ones of a commit are one.
func announced(e *v1alpha1.Environment, runs []*v1alpha1.Suite) map[string][]deployment {
	var all []deployment
	for _, s := range runs {
		d := s.Spec.Deployment
		for _, at := range ledger.Times(s) {
			all = append(all, deployment{repository: ledger.RepositoryOf(e, d.Repository), sha: d.SHA, branch: d.Branch, from: at})
		}
	}
	slices.SortStableFunc(all, func(a, b deployment) int { return a.from.Compare(b.from) })
	byRepository := map[string][]deployment{}
	for _, d := range all {
		key := commit.RepositoryKey(d.repository)
		before := byRepository[key]
		if len(before) == 0 || before[len(before)-1].sha != d.sha {
			byRepository[key] = append(before, d)
		}
	}
	return byRepository
}

// inArchive returns the deployments of each repository by time.
func inArchive(newestFirst []httpapi.Deployment) map[string][]deployment {
	all := map[string][]deployment{}
	for _, d := range slices.Backward(newestFirst) {
		archived := deployment{repository: d.Repository, sha: d.SHA, branch: d.Branch, from: d.Since}
		if d.Until != nil {
			archived.to = *d.Until
		}
		key := commit.RepositoryKey(d.Repository)
		all[key] = append(all[key], archived)
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
