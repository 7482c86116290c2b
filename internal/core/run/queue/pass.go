package queue

import (
	"container/heap"
	"math/bits"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// pass grants the free slots to waiting runs in their order, and counts the others, up to exactPositions. It reads only the heads of the
// groups, so that its cost does not depend on how many wait.
type pass struct {
	queue     *Queue
	granted   slots
	positions map[*member]Position // of the runs that may start, and of those near the front
	fresh     []*member            // those with a position that Next has not looked at

	heads   heads   // the next run of each group
	last    *member // the last run that was seen
	refused int     // how many of them wait
	ahead   counts
	parked  map[need]bool // groups whose other runs change nothing, until more slots are taken
}

// exactPositions bounds the positions that a message names: those behind change often, and each change costs a write.
const exactPositions = 20

// Position is where a run is in the queue.
type Position struct {
	Number int           // from 1; 0: it may start; more than exactPositions: far behind
	Wait   time.Duration // an estimate; 0: unknown
	Limit  Limit         // that holds it; zero where the position is not exact
}

// differs omits the estimate, which changes with every run that ends.
func (p Position) differs(other Position) bool {
	return p.Number != other.Number || p.Limit != other.Limit
}

// counts says how many runs wait for a slot of the team, or only for one of a Trigger, of an Environment, or of both.
type counts struct {
	team                 int
	trigger, environment map[string]int
	both                 map[need]int
}

func (q *Queue) current() *pass {
	if q.pass != nil {
		return q.pass
	}
	p := &pass{
		queue: q, granted: newSlots(), positions: map[*member]Position{}, parked: map[need]bool{},
		ahead: counts{trigger: map[string]int{}, environment: map[string]int{}, both: map[need]int{}},
	}
	for _, l := range q.groups {
		if q.limits.smallest(l.need) == 0 {
			continue
		}
		if first, ok := l.members.Min(); ok {
			p.heads = append(p.heads, first)
		}
	}
	heap.Init(&p.heads)
	p.run()
	q.pass = p
	return p
}

func (p *pass) run() {
	for len(p.heads) > 0 && p.ahead.team <= exactPositions {
		m := heap.Pop(&p.heads).(*member)
		p.see(m)
		if p.farBehind(m.group.need) {
			p.parked[m.group.need] = true
		} else if next := m.group.after(m); next != nil {
			heap.Push(&p.heads, next)
		}
	}
}

func (p *pass) add(m *member) {
	if p.ahead.team > exactPositions {
		return
	}
	heap.Push(&p.heads, m)
	p.run()
}

func (p *pass) see(m *member) {
	p.last = m
	full := p.full(m.group.need)
	if full == (fullness{}) {
		p.granted.add(m, 1)
		p.positions[m], m.overtakes = Position{}, p.refused > 0
		p.fresh = append(p.fresh, m)
		p.unpark(m, p.full(m.group.need))
		return
	}
	p.refused++
	if position := p.ahead.waiting(m.group.need) + 1; position <= exactPositions {
		p.positions[m] = p.queue.position(m.group.need, full, position)
		p.fresh = append(p.fresh, m)
	}
	p.ahead.add(m.group.need, full)
}

// started takes granted slots, and reports whether nothing else changes: runs that m overtook may now wait for these slots, too.
func (p *pass) started(m *member) bool {
	position, near := p.positions[m]
	if !near || position.Number > 0 || m.overtakes {
		return false
	}
	delete(p.positions, m)
	p.granted.add(m, -1)
	return true
}

type fullness struct{ team, trigger, environment bool }

func (p *pass) full(n need) fullness {
	limits, taken := p.queue.limits, p.queue.taken
	return fullness{
		team:        full(taken.team+p.granted.team, limits.Team),
		trigger:     full(taken.trigger[n.trigger]+p.granted.trigger[n.trigger], limits.Trigger[n.trigger]),
		environment: full(taken.environment[n.environment]+p.granted.environment[n.environment], limits.Environment[n.environment]),
	}
}

// farBehind reports whether the other runs of a group wait, and count for none that is near the front.
func (p *pass) farBehind(n need) bool {
	full := p.full(n)
	return full != fullness{} && !full.team &&
		(!full.trigger || p.ahead.trigger[n.trigger] > exactPositions) &&
		(!full.environment || p.ahead.environment[n.environment] > exactPositions)
}

// unpark continues with the groups for which the start of m took the last slot of another kind.
func (p *pass) unpark(m *member, full fullness) {
	for n := range p.parked {
		if full.team || full.trigger && n.trigger == m.trigger || full.environment && n.environment == m.environment {
			delete(p.parked, n)
			if next := p.queue.groups[n].after(m); next != nil {
				heap.Push(&p.heads, next)
			}
		}
	}
}

func (c *counts) waiting(n need) int {
	return c.team + c.trigger[n.trigger] + c.environment[n.environment] - c.both[n]
}

func (c *counts) add(n need, full fullness) {
	switch {
	case full.team:
		c.team++
		return
	case full.trigger && full.environment:
		c.both[n]++
	}
	if full.trigger {
		c.trigger[n.trigger]++
	}
	if full.environment {
		c.environment[n.environment]++
	}
}

type heads []*member

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return before(h[i], h[j]) }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(m any)        { *h = append(*h, m.(*member)) }
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// Position returns where a run is in the queue, and whether the run is known.
func (q *Queue) Position(name string) (position Position, known bool) {
	m := q.members[name]
	if m == nil {
		return Position{}, false
	}
	if !m.active && q.limits.smallest(q.limits.needs(m.trigger, m.environment)) != 0 {
		position = q.positionOf(m)
	}
	m.reported, m.noted = position, false
	m.announced = m.announced && position.Number == 0
	return position, true
}

// positionOf counts for a blocked run as if it waited, because it needs a slot for its next attempt.
func (q *Queue) positionOf(m *member) Position {
	if m.group == nil {
		q.pass = nil
		q.enter(m)
		defer func() {
			m.group.remove(q, m)
			q.pass = nil
		}()
	}
	if position, near := q.current().positions[m]; near {
		return position
	}
	return Position{Number: exactPositions + 1}
}

// Next returns the runs that may start, and those near the front that have moved, each once until Position is asked.
func (q *Queue) Next() (start, moved []*v1alpha1.Suite) {
	p := q.current()
	for _, m := range p.fresh {
		position, near := p.positions[m]
		switch {
		case !near:
		case position.Number == 0 && !m.announced:
			m.announced = true
			start = append(start, m.suite)
		case position.Number > 0 && m.reported.Number != 0 && m.reported.differs(position) && !m.noted:
			m.noted = true
			moved = append(moved, m.suite)
		}
	}
	p.fresh = nil
	return start, moved
}

// MayStart reports whether a run waits neither for a slot nor for another run of its stream.
func (q *Queue) MayStart(name string) bool {
	m := q.members[name]
	if m == nil || m.group == nil {
		return m != nil && m.active
	}
	position, near := q.current().positions[m]
	return q.limits.smallest(m.group.need) == 0 || near && position.Number == 0
}

// ready returns how many of the waiting runs may start.
func (q *Queue) ready() int {
	ready := int(q.current().granted.team)
	for n, l := range q.groups {
		if q.limits.smallest(n) == 0 {
			ready += l.members.Len()
		}
	}
	return ready
}

// LastPriority is the priority of status messages, which come after every Job that can be created. Higher priorities are reconciled
// earlier: changed objects have 0, and those that a manager finds when it starts -100.
const LastPriority = -200

// Priority is that of a run that has changed: whether it may start, or only its message can change.
func (q *Queue) Priority(s *v1alpha1.Suite) int {
	if q.MayStart(s.Name) || s.Finished() {
		return q.StartPriority()
	}
	return q.StatusPriority()
}

// StartPriority is the lower, the more runs of the namespace may start: a team that starts hundreds of runs at once delays its own, and
// hardly those of others. It has few values, because a metric has it as a label.
func (q *Queue) StartPriority() int { return -bits.Len(uint(max(0, q.ready()-1))) }

// StatusPriority is the lower, the more runs of the namespace have not ended.
func (q *Queue) StatusPriority() int { return LastPriority - bits.Len(uint(q.Len())) }
