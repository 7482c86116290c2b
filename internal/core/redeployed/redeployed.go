// Package redeployed decides from notifications whether something else was deployed to the Environment of a run since, also where no Suite
// shows it: no Trigger matched, all were paused, or the Suite was deleted.
package redeployed

import (
	"fmt"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/match"
	"github.com/postflight-dev/postflight/internal/core/plaintext"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/suite"
)

// Search looks for another deployment to the Environment of a run. It is for one goroutine.
type Search struct {
	run           *v1alpha1.Suite
	since         time.Time
	created       map[string]time.Time  // of all Triggers, by name
	byEnvironment map[string][]*trigger // by the name in their spec
}

type trigger struct {
	*v1alpha1.Trigger
	matcher  *match.Matcher // also while the Trigger is paused; nil: it matches nothing
	compiled bool
}

// New returns a Search among what was notified since a time, or in the same second: not all times are more exact. The Triggers are those of the namespace now.
func New(run *v1alpha1.Suite, since time.Time, triggers []*v1alpha1.Trigger) *Search {
	s := &Search{run: run, since: since.Truncate(time.Second), created: map[string]time.Time{}, byEnvironment: map[string][]*trigger{}}
	for _, t := range triggers {
		s.created[t.Name] = t.CreationTimestamp.Time
		s.byEnvironment[t.Spec.Environment] = append(s.byEnvironment[t.Spec.Environment], &trigger{Trigger: t})
	}
	return s
}

// IsOther reports whether a notification is of another commit than that of the run, and may be of a deployment to its Environment: in doubt, it
// is. A Trigger of the Environment matched it, or would if it were not paused. Or no Trigger matched, and deployment type and repository are those of
// the run, or ones of which a Trigger of the Environment tests deployments.
func (s *Search) IsOther(n *record.Notification) bool {
	d := s.run.Spec.Deployment
	switch {
	case n.At.Before(s.since), n.SHA == d.SHA && n.Repository == d.Repository:
		return false
	case n.Environment != "": // a rollout, which is notified to the Triggers of one Environment
		return n.Environment == s.run.Spec.Environment
	}
	of := s.triggersOfEnvironment(n)
	for _, t := range of {
		if matched, known := n.MatchedBy(t.Name); matched || !known || t.mayMatch(n) {
			return true
		}
	}
	matchedOthers := n.MoreMatched > 0 || slices.ContainsFunc(n.Matched, func(name string) bool { return s.existed(name, n.At) })
	return !matchedOthers && s.mayBeHere(n, of)
}

// existed reports whether a Trigger of now is the one that a notification matched: another one of its name may have been elsewhere.
func (s *Search) existed(name string, at time.Time) bool {
	created, exists := s.created[name]
	return exists && !created.After(at)
}

// triggersOfEnvironment are those whose runs, after this notification, would be in the Environment of the run.
func (s *Search) triggersOfEnvironment(n *record.Notification) (all []*trigger) {
	if !n.EphemeralEnvironment {
		return s.byEnvironment[s.run.Spec.Environment]
	}
	for name, triggers := range s.byEnvironment {
		base := &v1alpha1.Environment{}
		base.Name = name
		if suite.EphemeralEnvironment(base, n.DeploymentURL, time.Time{}).Name == s.run.Spec.Environment {
			all = append(all, triggers...)
		}
	}
	return all
}

// mayBeHere judges a notification that nothing matched by what says where a deployment goes. The Triggers are those of the Environment.
func (s *Search) mayBeHere(n *record.Notification, of []*trigger) bool {
	d := s.run.Spec.Deployment
	isType, isRepository := n.DeploymentType == d.Type, n.Repository == "" || d.Repository == "" || n.Repository == d.Repository
	for _, t := range of {
		m := t.Spec.Match
		isType = isType || slices.Contains(m.DeploymentTypes, n.DeploymentType)
		isRepository = isRepository || len(m.Repositories) == 0 || slices.Contains(m.Repositories, n.Repository)
	}
	_, exists := s.created[s.run.Spec.Trigger.Name]
	here := len(of) > 0 || !exists // nobody knows any more where that one's runs would be
	return here && isType && isRepository
}

func (t *trigger) mayMatch(n *record.Notification) bool {
	if !t.compiled {
		unpaused := *t.Trigger
		unpaused.Spec.Paused = false
		if m, err := match.Compile(&unpaused); err == nil {
			t.matcher = m
		}
		t.compiled = true
	}
	return t.matcher != nil && t.matcher.Judge(n.Notification(), n.Withheld).Verdict != match.No
}

// searchedFor is how long ago a run may be: a day takes a request, also without notifications. Failed tests are mostly repeated within hours.
const searchedFor = 7 * 24 * time.Hour

// TooLongAgo says that what followed a run is not known, as a sentence, or "". Notifications are kept for as long as records.
func TooLongAgo(run string, notified, now time.Time, kept time.Duration) string {
	limit := min(searchedFor, kept)
	if now.Sub(notified) < limit {
		return ""
	}
	return fmt.Sprintf("The commit of the run %s was notified more than %s ago, which is too long to know what was deployed since.", run, plaintext.Duration(limit))
}

// maxNamed bounds a text of a notification in a message, in bytes.
const maxNamed = 100

// Describe says what may have been deployed after a run, as a sentence; "" for nil.
func Describe(n *record.Notification, run string) string {
	if n == nil {
		return ""
	}
	what, kind, of := "a deployment without a commit", "", ""
	if n.SHA != "" {
		what = "the commit " + plaintext.Line(commit.ShortSHA(n.SHA), maxNamed)
	}
	if n.DeploymentType != "" {
		kind = fmt.Sprintf(" with the deployment type %q", plaintext.Line(n.DeploymentType, maxNamed))
	}
	if n.Repository != "" {
		of = " of " + plaintext.Line(n.Repository, maxNamed)
	}
	return fmt.Sprintf("After the run %s, %s%s was notified%s, so that it may have been deployed to the Environment.", run, what, of, kind)
}
