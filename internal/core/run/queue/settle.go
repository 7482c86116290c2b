package queue

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/third_party/forked/golang/btree"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// settling has the deployments of an Environment with spec.settle.
type settling struct {
	environment *v1alpha1.Environment // shared with the cache
	rollouts    []time.Time
	runs        map[string][]time.Time // by the name of the Suite
	times       *btree.BTree[deployedAt]
	burst       Burst
	lost        bool // the burst has to be found again, because a deployment that may be of it has gone
}

type deployedAt struct {
	time.Time
	by string // the name of a Suite; empty: a rollout
}

func newSettling() *settling {
	return &settling{runs: map[string][]time.Time{}, times: btree.New(btreeDegree, func(a, b deployedAt) bool {
		return cmp.Or(a.Compare(b.Time), strings.Compare(a.by, b.by)) < 0
	})}
}

// SetSettle takes spec.settle of an Environment, and what its status says of deployments. The queue keeps those of its runs only for
// Environments that have it: list returns all of its Suites, also those that have ended, and is called when the
// Environment gets spec.settle.
func (q *Queue) SetSettle(e *v1alpha1.Environment, list func() []*v1alpha1.Suite) {
	if e.Spec.Settle == nil {
		q.RemoveSettle(e.Name)
		return
	}
	x := q.settling[e.Name]
	if x == nil {
		x = newSettling()
		q.settling[e.Name] = x
		for _, s := range list() {
			q.setDeployments(x, s)
		}
	}
	x.lost = x.lost || x.environment == nil || x.environment.Spec.Settle.Quiet != e.Spec.Settle.Quiet
	x.environment = e
	x.setRollouts(ledger.Rollouts(e))
	q.setWait(e.Name)
}

// RemoveSettle is for an Environment without spec.settle, or that does not exist.
func (q *Queue) RemoveSettle(environment string) {
	x := q.settling[environment]
	if x == nil {
		return
	}
	for name := range x.runs {
		delete(q.settlingOf, name)
	}
	delete(q.settling, environment)
	q.setWait(environment)
}

// Burst returns that of an Environment with spec.settle.
func (q *Queue) Burst(environment string) Burst {
	x := q.settling[environment]
	if x == nil {
		return Burst{}
	}
	return x.current()
}

func (q *Queue) settled(environment string) time.Time {
	x := q.settling[environment]
	if x == nil {
		return time.Time{}
	}
	at, _ := x.current().Settled(x.environment)
	return at
}

// noteDeployments takes a Suite in whatever state.
func (q *Queue) noteDeployments(s *v1alpha1.Suite) {
	if x := q.settling[s.Spec.Environment]; x != nil && q.setDeployments(x, s) {
		q.setWait(s.Spec.Environment)
	}
}

func (q *Queue) setDeployments(x *settling, s *v1alpha1.Suite) (changed bool) {
	times := ledger.Times(s)
	if len(times) > 0 {
		q.settlingOf[s.Name] = x
	}
	return x.set(s.Name, times)
}

// forgetDeployments is for a Suite that is gone. Its deployments count no longer, as for the next leader, which does not find them.
func (q *Queue) forgetDeployments(name string) {
	if x := q.settlingOf[name]; x != nil {
		delete(q.settlingOf, name)
		x.set(name, nil)
		q.setWait(x.environment.Name)
	}
}

func (x *settling) set(by string, times []time.Time) (changed bool) {
	before := x.runs[by]
	if slices.EqualFunc(before, times, time.Time.Equal) {
		return false
	}
	x.replace(by, before, times)
	if x.runs[by] = times; len(times) == 0 {
		delete(x.runs, by)
	}
	return true
}

func (x *settling) setRollouts(times []time.Time) {
	if !slices.EqualFunc(x.rollouts, times, time.Time.Equal) {
		x.replace("", x.rollouts, times)
		x.rollouts = times
	}
}

func (x *settling) replace(by string, before, now []time.Time) {
	for _, t := range before {
		x.times.Delete(deployedAt{t, by})
		x.lost = x.lost || !t.Before(x.burst.First)
	}
	for _, t := range now {
		x.times.ReplaceOrInsert(deployedAt{t, by})
		x.add(t)
	}
}

// add continues the burst, unless the deployments before it have to be looked at.
func (x *settling) add(t time.Time) {
	b := &x.burst
	switch {
	case x.lost || x.environment == nil:
		x.lost = true
	case b.Last.IsZero() || t.Sub(b.Last) >= x.environment.Spec.Settle.Quiet.Duration:
		b.First, b.Last = t, t
	case t.After(b.Last):
		b.Last = t
	case b.First.Sub(t) < x.environment.Spec.Settle.Quiet.Duration:
		x.lost = x.lost || t.Before(b.First)
	}
}

func (x *settling) current() Burst {
	if !x.lost {
		return x.burst
	}
	x.burst, x.lost = Burst{}, false
	x.times.Descend(func(d deployedAt) bool { return x.burst.precededBy(d.Time, x.environment.Spec.Settle.Quiet.Duration) })
	return x.burst
}
