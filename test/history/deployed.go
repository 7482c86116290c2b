package history

import (
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Deployment is that a commit really came to a place, where tests see it from then on.
type Deployment struct {
	Place, Repository, Commit string
	At                        time.Time
	Told                      time.Time // of the first answer that names a run; zero: there was none
}

// Gate is an answer to a pipeline, or a person, that waits for what came of the notification of a deployment.
type Gate struct {
	About Deployment
	Asked string // the run that the notification was answered with
	Run   string // that counts
	Green bool
}

// passedThere: a run that passed has a commit that was there from the start to the end of its tests. Only what Postflight could know by
// then counts: a deployment of which it had told a client the run, so long before that all replicas can have seen it.
func passedThere(v *view) (all []Violation) {
	for _, r := range v.Tested {
		if r.State != v1alpha1.ReasonPassed {
			continue
		}
		if d, found := v.stranger(r); found {
			all = append(all, violation(r.ID, "passed for %s of %s, by %s, and %s had %s since %s, as was known at %s",
				r.Commit, r.Repository, r.Origin, r.Place, d.Commit, d.At.Format(time.TimeOnly), d.Told.Format(time.TimeOnly)))
		}
	}
	return all
}

// greenThere: a gate is green by a run that passed while its commit was there, and of that commit, or after it was replaced.
func greenThere(v *view) (all []Violation) {
	for _, g := range v.Gates {
		if !g.Green {
			continue
		}
		i := slices.IndexFunc(v.Tested, func(r Run) bool { return r.ID == g.Run })
		if i < 0 {
			all = append(all, violation(g.Asked, "is green by %s, which does not exist", g.Run))
			continue
		}
		r := v.Tested[i]
		d, found := v.stranger(r)
		switch {
		case found:
			all = append(all, violation(g.Asked, "is green for %s by %s of %s, and %s had %s", g.About.Commit, r.ID, r.Commit, r.Place, d.Commit))
		case r.Commit == g.About.Commit && r.Repository == g.About.Repository && r.Place == g.About.Place:
		case !v.covers(r, g.About):
			all = append(all, violation(g.Asked, "is green for %s by %s of %s, whose tests saw neither it nor what replaced it",
				g.About.Commit, r.ID, r.Commit))
		}
	}
	return all
}

// stranger returns another commit that the place of a run had while its tests ran, as was known.
func (v *view) stranger(r Run) (d Deployment, found bool) {
	for _, d := range v.during(r, r.Repository) {
		if d.Commit != r.Commit && !d.Told.IsZero() && d.Told.Add(Tolerance).Before(r.Stopped) {
			return d, true
		}
	}
	return d, false
}

// during returns what the place of a run had of a repository while its tests ran, in order.
func (v *view) during(r Run, repository string) (all []Deployment) {
	for _, d := range v.Deployments {
		switch {
		case d.Place != r.Place || d.Repository != repository || d.At.After(r.Stopped):
		case d.At.Before(r.Began):
			all = []Deployment{d}
		default:
			all = append(all, d)
		}
	}
	return all
}

func (v *view) covers(r Run, about Deployment) bool {
	all := v.during(r, about.Repository)
	return r.Place == about.Place && len(all) > 0 && !slices.ContainsFunc(all, func(d Deployment) bool {
		return d.At.Before(about.At) && d.Commit != about.Commit
	})
}
