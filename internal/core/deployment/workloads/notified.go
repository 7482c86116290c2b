package workloads

import (
	"cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// Current returns what an Environment has, as its status would say if notifications alone had changed since it was written.
func Current(e *v1alpha1.Environment, l *ledger.Ledger) []v1alpha1.Deployed {
	parts := byPart(e.Status.Deployed)
	for key, n := range l.Notified() {
		d := parts[key]
		if len(d.Workloads) > 0 || decidedByOthers(key, parts, func(d v1alpha1.Deployed) bool { return len(d.Workloads) > 0 }) {
			continue
		}
		d.Repository, d.Service = cmp.Or(d.Repository, n.Repository), key.Service
		parts[key] = ofNotification(d, n)
	}
	return known(parts)
}

// WithCurrent returns a copy of an Environment whose status has what notifications say now: it is written with a pause.
func WithCurrent(e *v1alpha1.Environment, suites []*v1alpha1.Suite) *v1alpha1.Environment {
	current := *e
	current.Status.Deployed = Current(e, ledger.Of(e, suites))
	return &current
}

// byPart takes the newest of several spellings, which earlier versions told apart.
func byPart(deployed []v1alpha1.Deployed) map[commit.Part]v1alpha1.Deployed {
	parts := map[commit.Part]v1alpha1.Deployed{}
	for _, d := range deployed {
		key := keyOf(d)
		if other, known := parts[key]; !known || len(other.Workloads) == 0 && since(d).After(since(other)) {
			parts[key] = d
		}
	}
	return parts
}

func keyOf(d v1alpha1.Deployed) commit.Part { return commit.PartOf(d.Repository, d.Service).Key() }

// decidedByOthers reports whether workloads say what is deployed of a part that they do not name: those of its repository, or of services
// of it.
func decidedByOthers[T any](p commit.Part, parts map[commit.Part]T, hasWorkloads func(T) bool) bool {
	for other, value := range parts {
		if other != p && hasWorkloads(value) && other.Overlaps(p) {
			return true
		}
	}
	return false
}

// known leaves out parts without a commit and without workloads.
func known(parts map[commit.Part]v1alpha1.Deployed) (deployed []v1alpha1.Deployed) {
	for _, d := range parts {
		if d.SHA != "" || len(d.Workloads) > 0 {
			deployed = append(deployed, d)
		}
	}
	return bounded(deployed)
}

// completeSHA returns the known commit that begins with a tag, or the tag. A commit that was known once stays known without its runs.
func completeSHA(tag string, known ...string) string {
	for _, sha := range known {
		if len(tag) >= commit.MinSHAPrefix && commit.IsSHA(sha) && commit.HasSHAPrefix(sha, tag) {
			return sha
		}
	}
	return tag
}

// ofNotification also finds what came and went since the status was written.
func ofNotification(d v1alpha1.Deployed, n ledger.Notified) v1alpha1.Deployed {
	d.Workloads, d.Ready, d.Message, d.Notification = nil, nil, "", ""
	switch {
	case n.Elsewhere && d.SHA != "" && d.URL == "" && !n.WasElsewhere(d.SHA, since(d)): // a preview replaces nothing here
		return d
	case n.Run != nil && !n.Elsewhere:
		d = withoutPreview(d)
	}
	between := n.Before != nil && n.Before.At.After(since(d))
	if n.Run == nil || d.SHA == n.Revision && !between || d.SHA != "" && !n.At.After(since(d)) {
		return d
	}
	deployment, before, at := n.Run.Spec.Deployment, previous(d), n.At
	if between {
		before = &v1alpha1.PreviousDeployment{SHA: n.Before.Revision, Since: stored(n.Before.At)}
	}
	if n.Since.After(since(d)) && d.SHA != "" {
		at = n.Since
	}
	deployed := v1alpha1.Deployed{
		Repository: d.Repository, Service: d.Service, SHA: n.Revision, Branch: deployment.Branch, DeploymentType: deployment.Type,
		Since: stored(at), ReportedBy: v1alpha1.ReportedByNotification, Previous: before,
	}
	if n.Elsewhere {
		deployed.URL = n.URL
	}
	return deployed
}

// withoutPreview leaves out what never was at the URL of the Environment.
func withoutPreview(d v1alpha1.Deployed) v1alpha1.Deployed {
	if d.URL == "" {
		return d
	}
	return v1alpha1.Deployed{Repository: d.Repository, Service: d.Service}
}

// previous leaves out that workloads had several commits: this is a part of the rollout that follows.
func previous(d v1alpha1.Deployed) *v1alpha1.PreviousDeployment {
	if d.Since == nil || d.SHA == "" {
		return d.Previous
	}
	return &v1alpha1.PreviousDeployment{SHA: d.SHA, Since: d.Since}
}
