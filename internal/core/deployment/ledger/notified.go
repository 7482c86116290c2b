package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// Notified is what was last announced of a repository, or of a service of it.
type Notified struct {
	Deployment
	Since     time.Time   // since when it was announced without another one in between
	Before    *Deployment // the other one; nil: none is known
	Revisions []string    // of all notifications, the newest first
	Elsewhere bool        // at another URL than the Environment has, while nothing of the repository was announced for its own

	previews []Deployment // all that were elsewhere
}

// WasElsewhere reports whether a Suite shows that a commit was deployed in a second to another URL than the Environment has.
func (n Notified) WasElsewhere(revision string, second time.Time) bool {
	return slices.ContainsFunc(n.previews, func(d Deployment) bool {
		return d.Revision == revision &&
			d.At.Truncate(time.Second).Equal(second)
	})
}

// Notified returns what was notified of each repository and service, by the key of the part. Rollouts, and notifications without a
// revision, are left out. A preview at a URL of its own does not replace what is at the URL of the Environment.
func (l *Ledger) Notified() map[commit.Part]Notified {
	var notified []*Deployment // which swap fast: an Environment may have tens of thousands
	for i := range l.all {
		if d := &l.all[i]; d.Run != nil && d.Revision != "" && d.by == v1alpha1.ReportedByNotification {
			notified = append(notified, d)
		}
	}
	slices.SortFunc(notified, func(a, b *Deployment) int { return cmp.Or(b.At.Compare(a.At), Compare(b.Run, a.Run)) }) // the newest first
	all := map[commit.Part]Notified{}
	for _, d := range notified {
		key := d.Key()
		all[key] = all[key].precededBy(d, !l.isOwnPlace(d))
	}
	return all
}

func (n Notified) precededBy(d *Deployment, elsewhere bool) Notified {
	if n.Revisions = append(n.Revisions, d.Revision); elsewhere {
		n.previews = append(n.previews, *d)
	}
	switch {
	case n.Run == nil || n.Elsewhere && !elsewhere:
		n.Deployment, n.Since, n.Before, n.Elsewhere = *d, d.At, nil, elsewhere
	case n.Before != nil || elsewhere != n.Elsewhere:
	case d.Revision == n.Revision:
		n.Since = d.At
	default:
		n.Before = d
	}
	return n
}

func (l *Ledger) isOwnPlace(d *Deployment) bool {
	return l.environment.Spec.URL == "" || d.anywhere || l.isAt(l.environment.Spec.URL, d)
}
