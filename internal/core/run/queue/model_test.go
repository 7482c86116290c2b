package queue_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/queue"
	"github.com/postflight-dev/postflight/test/tier"
)

// exactPositions is the last position that is exact. All runs behind it have the same message.
const exactPositions = 20

// queueModel is a queue, and what a replay from the beginning needs to know.
type queueModel struct {
	queue   *queue.Queue
	suites  map[string]*v1alpha1.Suite // that have not ended
	jobs    map[string]bool
	claimed map[string]bool
	limits  queue.Limits
	held    map[string]time.Time // until when Environments are on hold
	ended   map[string]*v1alpha1.Suite
	settle  map[string]*v1alpha1.EnvironmentSettle
	rollout map[string]time.Time // when another commit came to an Environment last
	now     time.Time
	arrived int

	announced map[string]bool           // returned by Next as one that may start, which was not denied since
	reported  map[string]queue.Position // the position that Position returned last, without the estimate
	moved     map[string]bool           // returned by Next since
}

// TestQueueModel changes a queue in random ways, and compares it with the replay after each of them. Next must return
// every run that may start, and every run near the front whose position, or the limit that holds it, differs from the reported one.
func TestQueueModel(t *testing.T) {
	tier.PinRapid(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &queueModel{
			queue: queue.New(), suites: map[string]*v1alpha1.Suite{}, jobs: map[string]bool{}, claimed: map[string]bool{},
			limits: queue.Limits{Trigger: map[string]int32{}, Environment: map[string]int32{}},
			held:   map[string]time.Time{}, ended: map[string]*v1alpha1.Suite{}, settle: map[string]*v1alpha1.EnvironmentSettle{},
			rollout: map[string]time.Time{}, now: t0, announced: map[string]bool{}, reported: map[string]queue.Position{}, moved: map[string]bool{},
		}
		m.queue.EndWaits(m.now)
		t.Repeat(map[string]func(*rapid.T){
			"arrive":  m.arrive,
			"crowd":   m.crowd,
			"claim":   m.claim,
			"release": m.release,
			"start":   m.start,
			"end":     m.end,
			"delete":  m.delete,
			"job":     m.job,
			"yield":   m.yield,
			"rename":  m.rename,
			"limit":   m.limit,
			"hold":    m.hold,
			"settle":  m.settling,
			"rollout": m.rolledOut,
			"expire":  m.expire,
			"pass":    m.pass,
			"ask":     m.ask,
			"":        m.check,
		})
	})
}

func (m *queueModel) arrive(t *rapid.T) { m.add(t, rapid.IntRange(0, 3).Draw(t, "trigger")) }

// crowd makes queues longer than the positions that are exact.
func (m *queueModel) crowd(t *rapid.T) {
	if len(m.suites) > 50 {
		t.Skip("enough")
	}
	trigger := rapid.IntRange(0, 3).Draw(t, "trigger")
	for range rapid.IntRange(5, 30).Draw(t, "runs") {
		m.add(t, trigger)
	}
}

func (m *queueModel) add(t *rapid.T, trigger int) {
	m.arrived++
	seconds := m.arrived
	if rapid.IntRange(0, 4).Draw(t, "late") == 0 {
		seconds = rapid.IntRange(0, m.arrived).Draw(t, "seconds")
	}
	s := aSuite(fmt.Sprintf("run-%d", m.arrived), seconds, ofTrigger(fmt.Sprintf("trigger-%d", trigger)),
		inEnvironment(fmt.Sprintf("environment-%d", rapid.IntRange(0, 2).Draw(t, "environment"))))
	switch rapid.IntRange(0, 5).Draw(t, "stream") {
	case 0:
		withPolicy(v1alpha1.SupersedeEnvironment)(s)
		notifiedBy(rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "request"))(s)
	case 1:
		keyed(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"))(s)
	default:
		withPolicy(v1alpha1.SupersedeNone)(s)
	}
	m.set(s)
}

func (m *queueModel) set(s *v1alpha1.Suite) {
	m.suites[s.Name] = s
	m.queue.Set(s.DeepCopy())
}

// any run that has not ended and for which the condition holds.
func (m *queueModel) any(t *rapid.T, condition func(name string) bool) *v1alpha1.Suite {
	names := slices.Sorted(maps.Keys(m.suites))
	names = slices.DeleteFunc(names, func(name string) bool { return !condition(name) })
	if len(names) == 0 {
		t.Skip("there is none")
	}
	return m.suites[rapid.SampledFrom(names).Draw(t, "run")]
}

func (m *queueModel) waits(name string) bool { return !m.active(m.suites[name]) }

func (m *queueModel) active(s *v1alpha1.Suite) bool {
	return m.claimed[s.Name] || m.jobs[s.Name] || s.Status.JobName != ""
}

func (m *queueModel) claim(t *rapid.T) {
	s := m.any(t, m.waits)
	want := m.position(s).Number == 0
	if got := m.queue.Claim(s.Name); got != want {
		t.Fatalf("claim %s: %t, want %t", s.Name, got, want)
	}
	m.asked(s.Name)
	if m.claimed[s.Name] = want; !want {
		delete(m.announced, s.Name)
	}
}

func (m *queueModel) release(t *rapid.T) {
	s := m.any(t, func(name string) bool { return m.claimed[name] })
	m.claimed[s.Name] = false
	m.queue.Release(s.Name)
}

// start records the Job of a run, which may not have been the next: an earlier leader started it.
func (m *queueModel) start(t *rapid.T) {
	s := m.any(t, m.waits).DeepCopy()
	s.Status.JobName = s.Name
	m.set(s)
}

func (m *queueModel) end(t *rapid.T) {
	s := m.any(t, func(string) bool { return true }).DeepCopy()
	inState(v1alpha1.Passed(""))(s)
	m.queue.Set(s)
	m.forget(s.Name)
	m.ended[s.Name] = s
}

func (m *queueModel) delete(t *rapid.T) {
	s := m.any(t, func(string) bool { return true })
	m.queue.Delete(s.Name)
	m.forget(s.Name)
}

func (m *queueModel) forget(name string) {
	delete(m.suites, name)
	delete(m.claimed, name)
	delete(m.announced, name)
	m.asked(name)
}

func (m *queueModel) asked(name string) {
	delete(m.reported, name)
	delete(m.moved, name)
}

func (m *queueModel) job(t *rapid.T) {
	name := fmt.Sprintf("run-%d", rapid.IntRange(0, m.arrived+1).Draw(t, "job"))
	m.jobs[name] = !m.jobs[name]
	m.queue.SetJob(name, m.jobs[name])
}

func (m *queueModel) yield(t *rapid.T) {
	s := m.any(t, m.waits).DeepCopy()
	switch {
	case queue.YieldsSlot(s):
		s.Status.Conditions = nil
	case rapid.Bool().Draw(t, "for its version"):
		awaiting(t0)(s)
	default:
		inState(v1alpha1.StoreUnavailable(""))(s)
		s.Status.CompletionTime = nil
	}
	m.set(s)
}

// rename changes the notification of a run, by which siblings know each other.
func (m *queueModel) rename(t *rapid.T) {
	s := m.any(t, func(string) bool { return true }).DeepCopy()
	s.Annotations = nil
	notifiedBy(rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "request"))(s)
	m.set(s)
}

func (m *queueModel) limit(t *rapid.T) {
	n := rapid.Int32Range(0, 6).Draw(t, "limit")
	i := rapid.IntRange(0, 3).Draw(t, "which")
	switch rapid.IntRange(0, 2).Draw(t, "of") {
	case 0:
		m.limits.Team = n
		m.queue.SetTeamLimit(n)
	case 1:
		m.limits.Trigger[fmt.Sprintf("trigger-%d", i)] = n
		m.queue.SetTriggerLimit(fmt.Sprintf("trigger-%d", i), n)
	default:
		m.limits.Environment[fmt.Sprintf("environment-%d", i)] = n
		m.queue.SetEnvironmentLimit(fmt.Sprintf("environment-%d", i), n)
	}
}

// ask compares the positions of all runs.
func (m *queueModel) ask(t *rapid.T) {
	for _, name := range slices.Sorted(maps.Keys(m.suites)) {
		s := m.suites[name]
		position, known := m.queue.Position(name)
		position.Wait = 0
		if want := m.position(s); !known || position != want {
			t.Fatalf("%s is at %+v, known: %t, want %+v", name, position, known, want)
		}
		m.asked(name)
		m.reported[name] = position
		if position.Number > 0 {
			delete(m.announced, name)
		}
	}
}

func (m *queueModel) position(s *v1alpha1.Suite) (p queue.Position) {
	if !m.active(s) {
		p.Number, p.Limit = queue.QueuePosition(s, m.all(), m.active, m.limits, m.waiting())
	}
	return p
}

func (m *queueModel) all() []*v1alpha1.Suite { return slices.Collect(maps.Values(m.suites)) }

// check calls Next, and knows what it must have returned by now.
func (m *queueModel) check(t *rapid.T) {
	start, moved := m.queue.Next()
	for _, s := range start {
		m.announced[s.Name] = true
	}
	for _, s := range moved {
		m.moved[s.Name] = true
	}
	if got, want := m.queue.Len(), len(m.suites); got != want {
		t.Fatalf("%d runs, want %d", got, want)
	}
	blocked, onHold := queue.Blocked(m.all()), m.waiting()
	for name, s := range m.suites {
		if m.claimed[name] || m.unlimited(s) {
			continue
		}
		if m.active(s) || blocked(s) || onHold(s) {
			delete(m.announced, name)
			continue
		}
		position := m.position(s)
		reported, asked := m.reported[name]
		switch {
		case position.Number > 0:
			if position.Number <= exactPositions && asked && reported.Number > 0 && reported != position && !m.moved[name] {
				t.Fatalf("%s moved from %+v to %+v, which Next did not say", name, reported, position)
			}
		case !m.announced[name]:
			t.Fatalf("%s may start, which Next did not say", name)
		}
	}
}

// unlimited runs start whatever Next says.
func (m *queueModel) unlimited(s *v1alpha1.Suite) bool {
	return m.limits.Team == 0 && m.limits.Trigger[s.Spec.Trigger.Name] == 0 && m.limits.Environment[s.Spec.Environment] == 0
}
