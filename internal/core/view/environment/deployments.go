package environment

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// deployment is a time in which an Environment had a commit of a repository, or of one service of it.
type deployment struct {
	commit.Part
	sha, branch string
	from, to    time.Time // to is zero: it is there now
}

// deploymentsOf returns what was deployed, by repository and service, and then by time. What is deployed now, and was just before, is known
// from the status, and the rest from the archive, or else from the runs that notifications started. Those are of the Environment, newest
// first.
func deploymentsOf(e *v1alpha1.Environment, runs []*v1alpha1.Suite, archived []httpapi.Deployment) []deployment {
	byPart := announced(e, runs)
	exact := inArchive(archived)
	for _, d := range e.Status.Deployed {
		key, known := commit.PartOf(d.Repository, d.Service).Key(), inStatus(d)
		own, found := exact[key]
		switch {
		case len(known) == 0:
		case found:
			own = slices.DeleteFunc(own, func(p deployment) bool { return !p.from.Before(known[0].from) })
			exact[key] = append(own, known...)
		default:
			byPart[key] = append(before(known[0], byPart[key]), known...)
		}
	}
	maps.Copy(byPart, exact)
	var all []deployment
	for _, name := range slices.SortedFunc(maps.Keys(byPart), compareParts) {
		own := byPart[name]
		for i := range own[:len(own)-1] {
			if next := own[i+1].from; own[i].to.IsZero() || next.Before(own[i].to) {
				own[i].to = next
			}
		}
		all = append(all, own...)
	}
	return all
}

func compareParts(a, b commit.Part) int {
	return cmp.Or(strings.Compare(a.Repository, b.Repository), strings.Compare(a.Service, b.Service))
}

// announced returns what the runs show that deployments started or found. Consecutive ones of a commit are one.
func announced(e *v1alpha1.Environment, runs []*v1alpha1.Suite) map[commit.Part][]deployment {
	var all []deployment
	for _, s := range runs {
		d := s.Spec.Deployment
		for _, at := range ledger.Times(s) {
			all = append(all, deployment{Part: ledger.PartOf(e, d.Repository, d.Service), sha: d.SHA, branch: d.Branch, from: at})
		}
	}
	slices.SortStableFunc(all, func(a, b deployment) int { return a.from.Compare(b.from) })
	byPart := map[commit.Part][]deployment{}
	for _, d := range all {
		key := d.Key()
		before := byPart[key]
		if len(before) == 0 || before[len(before)-1].sha != d.sha {
			byPart[key] = append(before, d)
		}
	}
	return byPart
}

// inArchive returns the deployments of each repository and service by time.
func inArchive(newestFirst []httpapi.Deployment) map[commit.Part][]deployment {
	all := map[commit.Part][]deployment{}
	for _, d := range slices.Backward(newestFirst) {
		archived := deployment{Part: commit.PartOf(d.Repository, d.Service), sha: d.SHA, branch: d.Branch, from: d.Since}
		if d.Until != nil {
			archived.to = *d.Until
		}
		key := archived.Key()
		all[key] = append(all[key], archived)
	}
	return all
}

// inStatus returns the deployment before the present one, if that is known, and the present one.
func inStatus(d v1alpha1.Deployed) (known []deployment) {
	if d.Since == nil {
		return nil
	}
	own := commit.PartOf(d.Repository, d.Service)
	if p := d.Previous; p != nil && p.Since != nil {
		known = append(known, deployment{Part: own, sha: p.SHA, from: p.Since.Time})
	}
	return append(known, deployment{Part: own, sha: d.SHA, branch: d.Branch, from: d.Since.Time})
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
