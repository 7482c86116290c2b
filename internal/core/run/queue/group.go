package queue

// group holds the runs that wait for the same slots and are not blocked. Each of them is behind all earlier ones.
type group struct {
	need    need
	members *sorted
}

// need omits the Environment if it has no limit: otherwise each of many ephemeral ones would have a group.
type need struct{ trigger, environment string }

// before orders members as they were received.
func before(a, b *member) bool {
	return a.received < b.received || a.received == b.received && requestedBefore(a, b)
}

// requestedBefore orders members whose times are equal because they were clamped.
func requestedBefore(a, b *member) bool {
	return a.unclamped < b.unclamped || a.unclamped == b.unclamped && a.name < b.name
}

func (q *Queue) regroup(m *member) {
	waits := !m.active && m.open && !m.yields && !q.Waits(m.environment)
	switch {
	case waits && m.group == nil:
		q.enter(m)
		q.arrived(m)
	case !waits && m.group != nil:
		q.left(m)
		m.group.remove(q, m)
		m.announced = false
	}
}

func (q *Queue) enter(m *member) {
	need := q.limits.needs(m.trigger, m.environment)
	l := q.groups[need]
	if l == nil {
		l = &group{need: need, members: newSorted(before)}
		q.groups[need] = l
	}
	l.members.ReplaceOrInsert(m)
	m.group = l
}

func (l *group) remove(q *Queue, m *member) {
	l.members.Delete(m)
	m.group = nil
	if l.members.Len() == 0 {
		delete(q.groups, l.need)
	}
}

func (l *group) after(m *member) (next *member) {
	l.members.AscendGreaterOrEqual(m, func(other *member) bool {
		if other == m {
			return true
		}
		next = other
		return false
	})
	return next
}

// arrived keeps the pass if the new run is behind all that it has seen.
func (q *Queue) arrived(m *member) {
	p := q.pass
	switch {
	case p == nil || q.limits.smallest(m.group.need) == 0:
	case p.last != nil && before(m, p.last):
		q.pass = nil
	case !p.parked[m.group.need]:
		p.add(m)
	}
}

// left drops the pass if it has seen a run that waits no longer.
func (q *Queue) left(m *member) {
	if p := q.pass; p != nil && q.limits.smallest(m.group.need) != 0 && p.last != nil && !before(p.last, m) {
		q.pass = nil
	}
}

// SetTeamLimit sets Team.spec.maxConcurrentSuites, which is 0 without a Team.
func (q *Queue) SetTeamLimit(limit int32) {
	if q.limits.Team != limit {
		q.limits.Team, q.pass = limit, nil
	}
}

// SetTriggerLimit sets Trigger.spec.maxConcurrentSuites, which is 0 without a Trigger.
func (q *Queue) SetTriggerLimit(trigger string, limit int32) {
	if setLimit(q.limits.Trigger, trigger, limit) {
		q.pass = nil
	}
}

// SetEnvironmentLimit sets Environment.spec.maxConcurrentSuites. Only the first and the last limit change the groups.
func (q *Queue) SetEnvironmentLimit(environment string, limit int32) {
	earlier := q.limits.Environment[environment]
	if !setLimit(q.limits.Environment, environment, limit) {
		return
	}
	q.pass = nil
	if (earlier == 0) == (limit == 0) {
		return
	}
	for _, m := range q.members {
		if m.environment == environment && m.group != nil {
			m.group.remove(q, m)
			q.enter(m)
		}
	}
}

func setLimit(limits map[string]int32, name string, limit int32) (changed bool) {
	if limits[name] == limit {
		return false
	}
	limits[name] = limit
	if limit == 0 {
		delete(limits, name)
	}
	return true
}
