// Package ledger lists what was deployed to an Environment, and when. It alone decides what is deployed, what came after what, and whether
// the commit of a run is still there.
//
// Notifications, events and rollouts are deployments. What was started again without one is not: the origin of a Suite tells. A deployment
// that found an earlier run, and was answered with it, counts as any other.
//
// Where the workloads of an Environment are those of a repository, or of a service, they alone say what is deployed of it. A notification
// only announces.
package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
)

// Deployment is a commit that came to an Environment.
type Deployment struct {
	commit.Commit
	At  time.Time
	Run *v1alpha1.Suite // shows that it was notified; nil: the status of the Environment has it

	URL string // empty: none is known; a guess if it may be anywhere

	by       v1alpha1.DeploymentReporter
	anywhere bool // it is not known at which URL
}

// Ledger has the deployments of an Environment.
type Ledger struct {
	environment *v1alpha1.Environment
	all         []Deployment // in no order
}

// Of returns the ledger of an Environment, given its Suites. It is shared with neither.
func Of(e *v1alpha1.Environment, suites []*v1alpha1.Suite) *Ledger {
	l := &Ledger{environment: e, all: make([]Deployment, 0, len(suites)+2*len(e.Status.Deployed))}
	for _, s := range suites {
		if s.Spec.Environment != e.Name {
			continue
		}
		for _, h := range deployments(s) {
			if l.isIn(s) || l.since(h.at) { // a deployment to this Environment may find a run of an earlier one
				l.all = append(l.all, Deployment{Commit: l.commitOf(s), At: h.at, Run: s, URL: l.urlOf(h.url), by: reporter(s, h.at),
					anywhere: !h.where})
			}
		}
	}
	for _, d := range e.Status.Deployed {
		l.addStatus(d, suites)
	}
	return l
}

// isIn reports whether a Suite is one of this Environment, and not of an earlier one of its name.
func (l *Ledger) isIn(s *v1alpha1.Suite) bool {
	return s.Spec.EnvironmentUID == "" || l.environment.UID == "" || s.Spec.EnvironmentUID == l.environment.UID
}

// since reports whether the Environment existed at a time.
func (l *Ledger) since(at time.Time) bool {
	created := l.environment.CreationTimestamp
	return !created.IsZero() && at.After(created.Time)
}

func (l *Ledger) commitOf(s *v1alpha1.Suite) commit.Commit {
	d := s.Spec.Deployment
	return commit.Commit{Part: PartOf(l.environment, d.Repository, d.Service), Revision: d.SHA}
}

func reporter(s *v1alpha1.Suite, at time.Time) v1alpha1.DeploymentReporter {
	if s.Origin() == v1alpha1.OriginRollout && at.Equal(s.DeployedAt().Time) {
		return v1alpha1.ReportedByWorkload
	}
	return v1alpha1.ReportedByNotification
}

// addStatus adds what the status remembers: rollouts, and deployments whose Suites were deleted.
func (l *Ledger) addStatus(d v1alpha1.Deployed, suites []*v1alpha1.Suite) {
	current := commit.New(d.Repository, d.Service, d.SHA)
	if d.Since != nil && !l.has(current, d.Since.Time) {
		l.all = append(l.all, Deployment{Commit: current, At: endOfSecond(d.Since.Time), URL: l.urlOf(d.URL), by: d.ReportedBy})
	}
	if p := d.Previous; p != nil && p.Since != nil {
		previous := commit.New(d.Repository, d.Service, p.SHA)
		if !l.has(previous, p.Since.Time) {
			l.all = append(l.all, Deployment{
				Commit: previous, At: l.announced(previous, p.Since.Time, suites), URL: l.urlOf(""), by: d.ReportedBy, anywhere: d.URL != "",
			})
		}
	}
}

// has reports whether a Suite shows the deployment of a second, in which the status keeps times. Of workloads, only the status counts.
func (l *Ledger) has(c commit.Commit, second time.Time) bool {
	return !l.hasWorkloads(c.Part) && slices.ContainsFunc(l.all, func(d Deployment) bool {
		return d.Run != nil && d.At.Truncate(time.Second).Equal(second.Truncate(time.Second)) && d.Service == c.Service && d.Covers(c)
	})
}

// announced is when a rollout that is over counts as begun: CI may notify a commit, and the next one, before the first is rolled out, and
// then the run of the next one is not of an earlier rollout.
func (l *Ledger) announced(c commit.Commit, rolledOut time.Time, suites []*v1alpha1.Suite) time.Time {
	var last time.Time
	for _, s := range suites {
		received := s.Received().Time
		if origin.Of(s.Origin()).Deployment && received.After(last) && l.commitOf(s).Covers(c) {
			last = received
		}
	}
	if !last.IsZero() && last.Before(rolledOut) {
		return last
	}
	return rolledOut
}

// endOfSecond is the last moment that a time of whole seconds can mean.
func endOfSecond(t time.Time) time.Time {
	return t.Truncate(time.Second).Add(time.Second - time.Microsecond)
}

// Other returns the newest deployment of another commit to the place of a run, after a time; nil: none is known.
func (l *Ledger) Other(s *v1alpha1.Suite, after time.Time) *Deployment {
	return l.Between(s, after, time.Time{})
}

// Between is Other without what came after a second time, if that is not zero.
func (l *Ledger) Between(s *v1alpha1.Suite, after, until time.Time) (newest *Deployment) {
	watched := l.hasWorkloads(l.commitOf(s).Part)
	return l.between(s, after, until, func(d *Deployment) bool { return d.Run != nil && (watched || l.hasWorkloads(d.Part)) })
}

// between leaves out deployments that say nothing because workloads do.
func (l *Ledger) between(s *v1alpha1.Suite, after, until time.Time, silent func(*Deployment) bool) (newest *Deployment) {
	own := l.commitOf(s)
	for i := range l.all {
		d := &l.all[i]
		switch {
		case !d.At.After(after), !until.IsZero() && d.At.After(until), newest != nil && !d.At.After(newest.At):
		case !own.MayBeSamePart(d.Part), own.Covers(d.Commit), !l.maybeThere(s, d):
		case d.Run != nil && (d.Run.Name == s.Name || siblings(d.Run, s)), silent(d):
		default:
			newest = d
		}
	}
	return newest
}

// Replaced returns what was deployed to the place of a run after its commit; nil: the commit is still there, as far as is known.
func (l *Ledger) Replaced(s *v1alpha1.Suite) *Deployment { return l.Other(s, l.LastOf(s)) }

// Interrupted returns the last deployment that replaced the commit of a run during its tests, even if the commit came back meanwhile. Their
// begin may have whole seconds, so that what was deployed at that time may have been later. A zero end is now. Where workloads say what was
// under test, it leaves that out if they were compared.
func (l *Ledger) Interrupted(s *v1alpha1.Suite, begin, end time.Time, compared bool) *Deployment {
	watched := l.hasWorkloads(l.commitOf(s).Part)
	return l.between(s, l.lastBefore(s, begin), end, func(d *Deployment) bool { return compared && (watched || l.hasWorkloads(d.Part)) })
}

// LastOf is when the commit of a run was deployed last to its place; zero: that is not known.
func (l *Ledger) LastOf(s *v1alpha1.Suite) time.Time { return l.lastBefore(s, time.Time{}) }

// lastBefore leaves out what did not come before a time, if that is not zero. When a run was started again shows no deployment.
func (l *Ledger) lastBefore(s *v1alpha1.Suite, before time.Time) (last time.Time) {
	if s.Spec.DeployedAt != nil || origin.Of(s.Origin()).Deployment {
		last = s.DeployedAt().Time
	}
	own := l.commitOf(s)
	byWorkloads, speaker := l.hasWorkloads(own.Part), l.speaker(own.Part)
	for _, d := range l.all {
		// A notification without a service may be about another one. Workloads without one are of all services without workloads.
		surely := d.Service == own.Service || d.Service == speaker.Service && byWorkloads && d.Run == nil
		same := own.Covers(d.Commit) && surely ||
			d.Run != nil && (d.Run.Name == s.Name || siblings(d.Run, s)) // with or without a revision
		there := l.isAt(l.urlOf(s.Spec.Deployment.URL), &d) || byWorkloads && d.Run == nil
		if same && there && d.At.After(last) && (before.IsZero() || d.At.Before(before)) {
			last = d.At
		}
	}
	return last
}

// At is when the commit of a status was deployed last.
func (l *Ledger) At(d v1alpha1.Deployed) (last time.Time) {
	current := commit.New(d.Repository, d.Service, d.SHA)
	for _, other := range l.all {
		same := other.Covers(current) && other.Service == d.Service
		if same && other.At.After(last) && (l.isAt(l.urlOf(d.URL), &other) || len(d.Workloads) > 0) {
			last = other.At
		}
	}
	return last
}

// Removed reports whether the Environment of a run was deleted and created again.
func (l *Ledger) Removed(s *v1alpha1.Suite) bool { return !l.isIn(s) }

// maybeThere reports whether a deployment may be to the place of a run: what is not known is no reason for green.
func (l *Ledger) maybeThere(s *v1alpha1.Suite, d *Deployment) bool {
	own := l.urlOf(s.Spec.Deployment.URL)
	return own == "" || d.URL == "" || d.anywhere || l.isAt(own, d)
}

// isAt reports whether a deployment is to a URL for sure, or to any if that is not known.
func (l *Ledger) isAt(url string, d *Deployment) bool {
	return !d.anywhere && (url == "" || url == d.URL || placeOf(url) == placeOf(d.URL))
}

// urlOf is the URL of the Environment if none was notified.
func (l *Ledger) urlOf(notified string) string { return cmp.Or(notified, l.environment.Spec.URL) }

// placeOf leaves out what addresses the same server: the case of its name, a slash at the end, a query and a fragment.
func placeOf(url string) string {
	url, _, _ = strings.Cut(url, "#")
	url, _, _ = strings.Cut(url, "?")
	scheme, rest, found := strings.Cut(url, "://")
	if !found {
		return url
	}
	host, path, _ := strings.Cut(rest, "/")
	return strings.TrimRight(strings.ToLower(scheme+"://"+host)+"/"+path, "/")
}
