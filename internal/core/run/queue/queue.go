// Package queue says which runs may start: they share slots, and wait for Environments that are on hold or have to settle.
package queue

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/third_party/forked/golang/btree"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
)

// Queue knows which runs of a namespace may start now, and the positions of the others. A run needs a slot of the team, of its Trigger and
// of its Environment, first come, first served. It holds none of them while it waits for one or is blocked.
// Each change of an object costs O(log n), in any order. All state comes from objects, except claims, which last until the objects show the
// Job. The Suites are shared with the cache, and never changed. It is not safe for concurrent use.
type Queue struct {
	limits  Limits
	members map[string]*member       // the runs that have not ended, by the name of the Suite
	jobs    map[string]bool          // the names of Jobs that have not ended
	streams map[suite.Stream]*sorted // the members of each stream
	groups  map[need]*group          // the runs that wait for slots and are not blocked
	holds   map[string]time.Time     // until when Environments are on hold, by their name
	waits   map[string]time.Time     // until when their runs wait: until the end of the hold, and until they have settled
	nextEnd time.Time                // of these waits, or earlier; zero: there is none
	now     time.Time                // the latest that EndWaits was told
	taken   slots                    // by active runs
	pass    *pass                    // what follows from the rest; nil: something changed
	past    map[string][]finishedIn  // the last runs of each Trigger, and of all under the empty name

	settling     map[string]*settling        // Environments that have spec.settle, by their name
	settlingOf   map[string]*settling        // where Suites count as deployments, by the name of the Suite
	environments map[string]map[*member]bool // the members of each Environment
}

// sorted holds members in the order of before, or in a stream in that of ledger.Compare.
type sorted = btree.BTree[*member]

// btreeDegree is the usual one of this library.
const btreeDegree = 32

func newSorted(less func(a, b *member) bool) *sorted { return btree.New(btreeDegree, less) }

// member is a run that has not ended.
type member struct {
	sortKey
	suite *v1alpha1.Suite

	claimed  bool // is about to get a Job
	active   bool // has its slots: from the creation of its Job, or its claim, to its own end
	released bool // gives its claim back
	open     bool // waits for no run of its stream
	yields   bool // see YieldsSlot
	group    *group

	overtakes bool     // may start before runs that wait for other slots
	announced bool     // returned by Next as one that may start
	noted     bool     // returned by Next as one that has moved since
	reported  Position // that Position returned last; its number is 0: none
}

// sortKey holds the fields that order runs.
type sortKey struct {
	uid                  types.UID
	received, unclamped  int64 // in microseconds
	deployed             int64 // the same: orders a stream
	name                 string
	trigger, environment string
	stream               suite.Stream
	request              string
}

func sortKeyOf(s *v1alpha1.Suite) sortKey {
	received, unclamped := s.ReceivedTimes()
	return sortKey{
		uid: s.UID, received: received.UnixMicro(), unclamped: unclamped.UnixMicro(), deployed: ledger.Last(s).UnixMicro(), name: s.Name,
		trigger: s.Spec.Trigger.Name, environment: s.Spec.Environment, stream: suite.StreamOf(
			s), request: s.Annotations[v1alpha1.AnnotationRequestID],
	}
}

// New returns the queue of a namespace without runs and limits.
func New() *Queue {
	return &Queue{
		limits:  Limits{Trigger: map[string]int32{}, Environment: map[string]int32{}},
		members: map[string]*member{}, jobs: map[string]bool{}, streams: map[suite.Stream]*sorted{}, groups: map[need]*group{},
		holds: map[string]time.Time{}, waits: map[string]time.Time{}, taken: newSlots(), past: map[string][]finishedIn{},
		settling: map[string]*settling{}, settlingOf: map[string]*settling{}, environments: map[string]map[*member]bool{},
	}
}

// Set adds or updates a Suite.
func (q *Queue) Set(s *v1alpha1.Suite) {
	q.noteDeployments(s)
	if s.Finished() {
		q.remember(s)
		q.drop(s.Name)
		return
	}
	m := &member{sortKey: sortKeyOf(s), suite: s, yields: YieldsSlot(s)}
	known := q.members[s.Name]
	switch {
	case known == nil:
		q.add(m)
	case known.sortKey != m.sortKey:
		if known.uid == m.uid {
			m.claimed, m.announced, m.reported, m.noted = known.claimed, known.announced, known.reported, known.noted
		}
		q.remove(known)
		q.add(m)
	default:
		known.suite, known.yields = s, m.yields
		q.setActive(known)
		q.regroup(known)
	}
}

// Delete removes a Suite.
func (q *Queue) Delete(name string) {
	q.forgetDeployments(name)
	q.drop(name)
}

func (q *Queue) drop(name string) {
	if m := q.members[name]; m != nil {
		q.remove(m)
	}
}

// SetJob says whether there is a Job that has not ended.
func (q *Queue) SetJob(name string, unfinished bool) {
	if unfinished {
		q.jobs[name] = true
	} else {
		delete(q.jobs, name)
	}
	if m := q.members[name]; m != nil {
		q.setActive(m)
	}
}

// Claim takes the slots of a run that may start, before its Job is created, and reports whether the run has them.
func (q *Queue) Claim(name string) bool {
	position, known := q.Position(name)
	if !known || position.Number > 0 {
		return false
	}
	q.members[name].claimed = true
	q.setActive(q.members[name])
	return true
}

// Release returns the claimed slots of a run without a Job, which knows when to try again, and reports whether there were any.
func (q *Queue) Release(name string) bool {
	m := q.members[name]
	if m == nil || !m.claimed {
		return false
	}
	m.claimed, m.released = false, true
	q.setActive(m)
	m.released = false
	return true
}

// Len returns how many runs have not ended.
func (q *Queue) Len() int { return len(q.members) }

func (q *Queue) add(m *member) {
	q.members[m.name] = m
	q.joinEnvironment(m)
	m.active = q.hasSlots(m)
	if m.active {
		q.taken.add(m, 1)
		q.pass = nil
	}
	q.join(m)
}

func (q *Queue) remove(m *member) {
	delete(q.members, m.name)
	q.quitEnvironment(m)
	q.quit(m)
	if m.active {
		q.taken.add(m, -1)
		q.freed(m)
	}
}

func (q *Queue) hasSlots(m *member) bool {
	return m.claimed || q.jobs[m.name] || m.suite.Status.JobName != ""
}

func (q *Queue) setActive(m *member) {
	hasSlots := q.hasSlots(m)
	switch {
	case hasSlots && !m.active:
		q.start(m)
	case !hasSlots && m.active:
		m.active, m.announced = false, m.announced && m.released
		q.taken.add(m, -1)
		q.freed(m)
		q.regroup(m)
	}
}

// start changes nothing for the others if the pass had granted the slots.
func (q *Queue) start(m *member) {
	m.active = true
	q.taken.add(m, 1)
	switch {
	case m.group == nil:
		q.pass = nil
		return
	case q.pass != nil && q.limits.smallest(m.group.need) != 0 && !q.pass.started(m):
		q.pass = nil
	}
	m.group.remove(q, m)
}

// freed drops the pass if a run may wait for the slots of m.
func (q *Queue) freed(m *member) {
	if q.pass != nil && q.pass.refused > 0 && q.limits.smallest(q.limits.needs(m.trigger, m.environment)) != 0 {
		q.pass = nil
	}
}
