package ledger

import (
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// Repositories are those whose code the workloads of an Environment are, each once.
func Repositories(e *v1alpha1.Environment) (all []string) {
	for _, w := range e.Spec.Workloads {
		if !slices.ContainsFunc(all, func(r string) bool { return commit.SameRepository(r, w.Repository) }) {
			all = append(all, w.Repository)
		}
	}
	return all
}

// Services of a repository that workloads of an Environment name, each once.
func Services(e *v1alpha1.Environment, repository string) (all []string) {
	for _, w := range e.Spec.Workloads {
		if commit.SameRepository(w.Repository, repository) && !slices.Contains(all, w.Service) {
			all = append(all, w.Service)
		}
	}
	return all
}

// RepositoryOf returns whose code a deployment is, in the spelling of the workloads. A notification without a repository is of the only one
// that they have, if there is one.
func RepositoryOf(e *v1alpha1.Environment, notified string) string {
	own := Repositories(e)
	if notified == "" && len(own) == 1 {
		return own[0]
	}
	if i := slices.IndexFunc(own, func(r string) bool { return commit.SameRepository(r, notified) }); i >= 0 {
		return own[i]
	}
	return notified
}

// PartOf returns what a notification is about, with the repository of RepositoryOf.
func PartOf(e *v1alpha1.Environment, repository, service string) commit.Part {
	return commit.PartOf(RepositoryOf(e, repository), service)
}

// HasWorkloads reports whether only the workloads of an Environment say what is deployed of a part. Workloads of a whole repository speak
// for each of its services. Workloads of services do not speak for the whole, which may have other services.
func HasWorkloads(e *v1alpha1.Environment, p commit.Part) bool {
	services := Services(e, p.Repository)
	return slices.Contains(services, p.Speaker(services))
}

// hasWorkloads is false until the workloads have been read once.
func (l *Ledger) hasWorkloads(p commit.Part) bool {
	speaker := l.speaker(p)
	return HasWorkloads(l.environment, p) && slices.ContainsFunc(l.environment.Status.Deployed, func(d v1alpha1.Deployed) bool {
		read := func(w v1alpha1.DeployedWorkload) bool { return w.UID != "" }
		return speaker.SamePart(commit.PartOf(d.Repository, d.Service)) && slices.ContainsFunc(d.Workloads, read)
	})
}

// speaker is the part whose workloads say what is deployed of another one.
func (l *Ledger) speaker(p commit.Part) commit.Part {
	return commit.PartOf(p.Repository, p.Speaker(Services(l.environment, p.Repository)))
}

// Rollouts returns when commits came to an Environment, as its status says, also those whose Suites were deleted.
func Rollouts(e *v1alpha1.Environment) (times []time.Time) {
	for _, d := range e.Status.Deployed {
		if d.Since != nil {
			times = append(times, d.Since.Time)
		}
		if p := d.Previous; p != nil && p.Since != nil {
			times = append(times, p.Since.Time)
		}
	}
	return times
}

// Begun returns when a deployment began, and whether there is one. The clock may have been set back since the one before.
func Begun(d v1alpha1.Deployed) (time.Time, bool) {
	if d.Since == nil {
		return time.Time{}, false
	}
	at := d.Since.Time
	if p := d.Previous; p != nil && p.Since != nil && !at.After(p.Since.Time) {
		at = p.Since.Add(time.Second)
	}
	return at.UTC().Truncate(time.Second), true
}
