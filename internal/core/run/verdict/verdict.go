// Package verdict decides whether a commit is green in an Environment. It is the only place that does: pipelines, code hosts, pages and
// policies ask it.
//
// A Trigger says what its last run of the commit says. A later failure withdraws an earlier pass. What is not known is never green.
package verdict

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// Question is about a commit in an Environment.
type Question struct {
	Commit      commit.Commit // without a repository or a service: of all
	Environment *v1alpha1.Environment
	Triggers    []*v1alpha1.Trigger // that start runs in the Environment
	LeftOut     []string            // Triggers of the namespace that are too large to be known
	Suites      []*v1alpha1.Suite   // of the Environment
	Rule        *v1alpha1.GateRule  // its fields replace those of the Environment; nil: none
	MaxAge      time.Duration       // also required, by the request; 0: nothing more
	Now         time.Time
}

// Verdict is the answer.
type Verdict struct {
	Question
	State        State
	Requirements []Requirement // those that do not pass first, then by name
	Since        time.Time     // when all of them had passed, without a failure since; zero: they have not
	Expires      time.Time     // when the first result becomes stale; zero: never
	Opens        time.Time     // when minAge is over, if nothing else is missing

	Runs     []*v1alpha1.Suite  // of the commit, that say something about it, in no order
	Newest   *v1alpha1.Suite    // of these, of any Trigger; nil: there is none
	Deployed time.Time          // when the commit came there last; zero: not known
	Replaced *ledger.Deployment // what replaced the commit there; nil: nothing is known to have
}

// Requirement is a Trigger, and perhaps a service, that must have passed.
type Requirement struct {
	Trigger string
	Service string
	State   State
	Run     *v1alpha1.Suite // that decides; nil: there is none
	Problem string          // why there is no result, as a sentence; empty: the run says it
	Advice  string          // what to do about the problem, as sentences; empty: what helps with every verdict of its state

	Passing time.Time // if it passes: since when it has each time
	Passed  time.Time // when it last passed, if a later run did not
}

// Of answers a question.
func Of(q Question) Verdict {
	v := Verdict{Question: q, Runs: q.runs()}
	v.Requirements = q.requirements(v.Runs)
	v.place()
	var states []State
	for _, r := range v.Requirements {
		states = append(states, r.State)
	}
	v.State = Worst(states...)
	if v.State != Passed {
		return v
	}
	for _, r := range v.Requirements {
		v.Since = later(v.Since, r.Passing)
		if q.maxAge() > 0 {
			v.Expires = earlier(v.Expires, r.Run.Status.CompletionTime.Add(q.maxAge()))
		}
	}
	if opens := v.Since.Add(duration(q.rule().MinAge)); opens.After(q.Now) {
		v.State, v.Opens = Running, opens
	}
	return v
}

// place adds what the ledger knows of the commit.
func (v *Verdict) place() {
	if len(v.Runs) == 0 {
		return
	}
	v.Newest = slices.MaxFunc(v.Runs, ledger.CompareRequests)
	l := ledger.Of(v.Environment, v.Suites)
	v.Deployed, v.Replaced = l.LastOf(v.Newest), l.Replaced(v.Newest)
}

// severity orders states: the first of them is that of several Triggers.
var severity = []State{Failed, Withdrawn, Running, None, Stale, Passed}

func bySeverity(a, b Requirement) int {
	return slices.Index(severity, a.State) - slices.Index(severity, b.State)
}

// rule is that of the Environment, with the fields that the question replaces.
func (q Question) rule() (rule v1alpha1.GateRule) {
	for _, r := range []*v1alpha1.GateRule{q.Environment.Spec.Gate, q.Rule} {
		if r == nil {
			continue
		}
		if len(r.Triggers) > 0 {
			rule.Triggers = r.Triggers
		}
		rule.MaxAge, rule.MinAge = cmp.Or(r.MaxAge, rule.MaxAge), cmp.Or(r.MinAge, rule.MinAge)
	}
	return rule
}

// maxAge is the shorter of the rule's and the question's; 0: neither has one.
func (q Question) maxAge() time.Duration {
	own := duration(q.rule().MaxAge)
	if own == 0 || q.MaxAge > 0 && q.MaxAge < own {
		return q.MaxAge
	}
	return own
}

func duration(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

// runs are those of the commit. A run of an earlier Environment of that name, or of a backup, says nothing about this one.
func (q Question) runs() []*v1alpha1.Suite {
	l := ledger.Of(q.Environment, nil)
	return slices.DeleteFunc(slices.Clone(q.Suites), func(s *v1alpha1.Suite) bool {
		return !commit.EqualRevisions(q.Commit.Revision, s.Spec.Deployment.SHA) || // first, because it leaves out most runs
			s.Spec.Environment != q.Environment.Name || l.Removed(s) || s.Restored() || !q.isAsked(q.commitOf(s))
	})
}

func (q Question) commitOf(s *v1alpha1.Suite) commit.Commit {
	d := s.Spec.Deployment
	return commit.Commit{Part: ledger.PartOf(q.Environment, d.Repository, d.Service), Revision: d.SHA}
}

// isAsked is about a commit of the same revision: the whole one, because an abbreviation may later fit another commit, too. If both name a
// repository, it must be the same, so that a fork does not borrow the result of the repository that it was made from.
func (q Question) isAsked(c commit.Commit) bool {
	asked := q.Commit
	sameRepository := commit.SameRepository(asked.Repository, c.Repository) || asked.Repository == "" ||
		c.Repository == "" && commit.IsSHA(c.Revision)
	return sameRepository && (asked.Service == "" || asked.Service == c.Service)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
