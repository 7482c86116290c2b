package suite

import (
	"container/heap"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// pass goes through the waiting runs in their order, gives the free slots to those who may have them, and counts the
// others, up to exactPositions. It reads the heads of the lanes only, so that its cost does not depend on how many wait.
type pass struct {
	queue   *Queue
	granted slots
	places  map[*member]Place // of the runs that may start, and of those near the front
	fresh   []*member         // those with a place that Next has not looked at

	heads   heads   // the next run of each lane
	last    *member // the last run that was seen
	refused int     // how many of them wait
	ahead   counts
	parked  map[need]bool // lanes whose other runs change nothing, until more slots are taken
}

// Place is where a run is in the queue.
type Place struct {
	Position int           // from 1; 0: it may start; more than exactPositions: far behind
	Wait     time.Duration // an estimate; 0: unknown
}

// counts says how many runs wait for a slot of the team, or only for one of a Trigger, of an Environment, or of both.
type counts struct {
	team                 int
	trigger, environment map[string]int
	both                 map[need]int
}

// current is the pass, made anew if something has changed.
func (q *Queue) current() *pass {
	if q.pass != nil {
		return q.pass
	}
	p := &pass{
		queue: q, granted: newSlots(), places: map[*member]Place{}, parked: map[need]bool{},
		ahead: counts{trigger: map[string]int{}, environment: map[string]int{}, both: map[need]int{}},
	}
	for _, l := range q.lanes {
		if q.limits.of(l.need) == 0 {
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

// run sees runs until the others are far behind.
func (p *pass) run() {
	for len(p.heads) > 0 && p.ahead.team <= exactPositions {
		m := heap.Pop(&p.heads).(*member)
		p.see(m)
		if p.farBehind(m.lane.need) {
			p.parked[m.lane.need] = true
		} else if next := m.lane.after(m); next != nil {
			heap.Push(&p.heads, next)
		}
	}
}

// add sees a run that is behind all others.
func (p *pass) add(m *member) {
	if p.ahead.team > exactPositions {
		return
	}
	heap.Push(&p.heads, m)
	p.run()
}

func (p *pass) see(m *member) {
	p.last = m
	full := p.full(m.lane.need)
	if full == (fullness{}) {
		p.granted.add(m, 1)
		p.places[m], m.overtakes = Place{}, p.refused > 0
		p.fresh = append(p.fresh, m)
		p.unpark(m, p.full(m.lane.need))
		return
	}
	p.refused++
	if position := p.ahead.of(m.lane.need) + 1; position <= exactPositions {
		p.places[m] = Place{Position: position, Wait: p.queue.wait(m.lane.need, full, position)}
		p.fresh = append(p.fresh, m)
	}
	p.ahead.add(m.lane.need, full)
}

// started moves the slots that a run was to have to the taken ones. It reports whether nothing else changes: others that
// it overtook may now wait for these slots, too.
func (p *pass) started(m *member) bool {
	place, near := p.places[m]
	if !near || place.Position > 0 || m.overtakes {
		return false
	}
	delete(p.places, m)
	p.granted.add(m, -1)
	return true
}

// fullness says which slots a need waits for.
type fullness struct{ team, trigger, environment bool }

func (p *pass) full(n need) fullness {
	limits, taken := p.queue.limits, p.queue.taken
	return fullness{
		team:        full(taken.team+p.granted.team, limits.Team),
		trigger:     full(taken.trigger[n.trigger]+p.granted.trigger[n.trigger], limits.Trigger[n.trigger]),
		environment: full(taken.environment[n.environment]+p.granted.environment[n.environment], limits.Environment[n.environment]),
	}
}

// farBehind reports whether the other runs of a lane wait, and count for none that is near the front.
func (p *pass) farBehind(n need) bool {
	full := p.full(n)
	return full != fullness{} && !full.team &&
		(!full.trigger || p.ahead.trigger[n.trigger] > exactPositions) &&
		(!full.environment || p.ahead.environment[n.environment] > exactPositions)
}

// unpark goes on with the lanes for which the start of m took the last slot of another kind.
func (p *pass) unpark(m *member, full fullness) {
	for n := range p.parked {
		if full.team || full.trigger && n.trigger == m.trigger || full.environment && n.environment == m.environment {
			delete(p.parked, n)
			if next := p.queue.lanes[n].after(m); next != nil {
				heap.Push(&p.heads, next)
			}
		}
	}
}

func (c *counts) of(n need) int {
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

// heads is a heap.
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

// Place says where a run is in the queue. A run that is not known has no place.
func (q *Queue) Place(name string) (place Place, known bool) {
	m := q.members[name]
	if m == nil {
		return Place{}, false
	}
	if !m.active && q.limits.of(q.limits.needs(m.trigger, m.environment)) != 0 {
		place = q.placeOf(m)
	}
	m.told, m.noted = place.Position, false
	m.announced = m.announced && place.Position == 0
	return place, true
}

// placeOf counts the others for a blocked run as if it waited, because it needs a slot for its next attempt.
func (q *Queue) placeOf(m *member) Place {
	if m.lane == nil {
		q.pass = nil
		q.enter(m)
		defer func() {
			m.lane.remove(q, m)
			q.pass = nil
		}()
	}
	if place, near := q.current().places[m]; near {
		return place
	}
	return Place{Position: exactPositions + 1}
}

// Next are the runs that may start, and those near the front whose place is another than Place said. It returns each
// once, until Place is asked.
func (q *Queue) Next() (start, moved []*v1alpha1.Suite) {
	p := q.current()
	for _, m := range p.fresh {
		place, near := p.places[m]
		switch {
		case !near:
		case place.Position == 0 && !m.announced:
			m.announced = true
			start = append(start, m.suite)
		case place.Position > 0 && m.told != 0 && m.told != place.Position && !m.noted:
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
	if m == nil || m.lane == nil {
		return m != nil && m.active
	}
	place, near := q.current().places[m]
	return q.limits.of(m.lane.need) == 0 || near && place.Position == 0
}

// Ready is how many of the waiting runs may start.
func (q *Queue) Ready() int {
	ready := int(q.current().granted.team)
	for n, l := range q.lanes {
		if q.limits.of(n) == 0 {
			ready += l.members.Len()
		}
	}
	return ready
}
