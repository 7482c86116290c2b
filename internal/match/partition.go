package match

import "slices"

// partition holds the Triggers of one namespace, so that a notification needs to be held against few
// of them. Each Trigger is put under the values of the one condition that is likely to tell it from
// others; what gives no such condition is held against every notification.
type partition struct {
	byName map[string]*entry
	// buckets are replaced, never changed: who looks at one needs no lock.
	buckets map[bucketKey][]*entry
}

// bucketKey is a value that a field of the notification must have.
type bucketKey struct {
	field keyField
	value string
}

type keyField int

const (
	// always is for Triggers that must be tried in any case; the value is empty.
	always keyField = iota
	repositoryKey
	branchKey
	// branchRootKey is the first segment of a branch: what is before the first slash.
	branchRootKey
	deploymentTypeKey
)

func newPartition() *partition {
	return &partition{byName: map[string]*entry{}, buckets: map[bucketKey][]*entry{}}
}

func (p *partition) set(e *entry) {
	p.delete(e.trigger.Name)
	p.byName[e.trigger.Name] = e
	for _, key := range e.keys() {
		bucket := p.buckets[key]
		if i, found := slices.BinarySearchFunc(bucket, e, byName); !found {
			p.buckets[key] = slices.Concat(bucket[:i], []*entry{e}, bucket[i:])
		}
	}
}

func (p *partition) delete(name string) {
	e := p.byName[name]
	if e == nil {
		return
	}
	delete(p.byName, name)
	for _, key := range e.keys() {
		bucket := p.buckets[key]
		i, found := slices.BinarySearchFunc(bucket, e, byName)
		switch {
		case !found:
		case len(bucket) == 1:
			delete(p.buckets, key)
		default:
			p.buckets[key] = slices.Concat(bucket[:i], bucket[i+1:])
		}
	}
}

// candidates may name a Trigger twice: where its globs are for a branch and for its root.
func (p *partition) candidates(s *subject) [][]*entry {
	keys := [...]bucketKey{
		{always, ""},
		{repositoryKey, s.Repository},
		{branchKey, s.branch},
		{branchRootKey, root(s.branch)},
		{deploymentTypeKey, s.DeploymentType},
	}
	candidates := make([][]*entry, 0, len(keys))
	for _, key := range keys {
		if bucket := p.buckets[key]; len(bucket) > 0 {
			candidates = append(candidates, bucket)
		}
	}
	return candidates
}

// keys are the buckets of a Trigger: none where it can match nothing. A team with many Triggers has
// many repositories, or else many branches; it has few types of deployment.
func (e *entry) keys() []bucketKey {
	m := e.matcher
	switch {
	case m == nil || m.paused:
		return nil
	case len(m.repositories) > 0:
		return keysOf(repositoryKey, m.repositories)
	case m.branches != nil && m.branches.rooted():
		return m.branches.keys()
	case len(m.deploymentTypes) > 0:
		return keysOf(deploymentTypeKey, m.deploymentTypes)
	}
	return []bucketKey{{always, ""}}
}

func keysOf(field keyField, values []string) []bucketKey {
	keys := make([]bucketKey, 0, len(values))
	for _, value := range values {
		keys = append(keys, bucketKey{field, value})
	}
	return keys
}

// rooted tells whether the first segment is known of every branch that can match.
func (b *branchGlobs) rooted() bool {
	unknown := func(g glob) bool { _, known := g.root(); return !known }
	return len(b.include) > 0 && !slices.ContainsFunc(b.include, unknown)
}

func (b *branchGlobs) keys() []bucketKey {
	keys := make([]bucketKey, 0, len(b.include))
	for _, g := range b.include {
		if segment, _ := g.root(); g.literal {
			keys = append(keys, bucketKey{branchKey, g.pattern})
		} else {
			keys = append(keys, bucketKey{branchRootKey, segment})
		}
	}
	return keys
}
