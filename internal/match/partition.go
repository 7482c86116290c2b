package match

import "slices"

// partition holds the Triggers of one namespace, so that a notification needs to be matched against few
// of them. Each Trigger is in the buckets of one of its conditions, whichever tells it best from the
// others that are there: it can match only notifications that name the key of such a bucket.
type partition struct {
	byName map[string]placed
	// buckets are replaced, never changed: who looks at one needs no lock. Each is ordered by name.
	buckets map[bucketKey][]*entry
}

// placed is an entry and where it is.
type placed struct {
	*entry
	keys []bucketKey
}

// bucketKey is a value that a field of the notification must have.
type bucketKey struct {
	field keyField
	// variable is the name of the variable, for variableKey.
	variable string
	value    string
}

type keyField int

const (
	// anyKey is for Triggers that must be tried in any case; it has no value.
	anyKey keyField = iota
	repositoryKey
	branchKey
	// branchRootKey is the first segment of a branch: what is before the first slash.
	branchRootKey
	variableKey
	deploymentTypeKey
)

func newPartition() *partition {
	return &partition{byName: map[string]placed{}, buckets: map[bucketKey][]*entry{}}
}

func (p *partition) set(e *entry) {
	p.delete(e.trigger.Name)
	keys := p.place(e)
	p.byName[e.trigger.Name] = placed{entry: e, keys: keys}
	for _, key := range keys {
		bucket := p.buckets[key]
		if i, found := slices.BinarySearchFunc(bucket, e, byName); !found {
			p.buckets[key] = slices.Concat(bucket[:i], []*entry{e}, bucket[i:])
		}
	}
}

func (p *partition) delete(name string) {
	for _, key := range p.byName[name].keys {
		bucket := slices.DeleteFunc(slices.Clone(p.buckets[key]), func(e *entry) bool { return e.trigger.Name == name })
		if len(bucket) == 0 {
			delete(p.buckets, key)
		} else {
			p.buckets[key] = bucket
		}
	}
	delete(p.byName, name)
}

// place chooses the condition whose buckets hold the least by now: a team may have many repositories
// or one, and as many branches or types. It is none where the Trigger can match nothing.
func (p *partition) place(e *entry) []bucketKey {
	if e.matcher == nil || e.matcher.paused {
		return nil
	}
	choices := e.matcher.keys()
	if len(choices) == 0 {
		return []bucketKey{{field: anyKey}}
	}
	return slices.MinFunc(choices, func(a, b []bucketKey) int { return p.load(a) - p.load(b) })
}

// load is how many Triggers are tried for the keys already.
func (p *partition) load(keys []bucketKey) int {
	load := 0
	for _, key := range keys {
		load += len(p.buckets[key])
	}
	return load
}

// candidates may name a Trigger twice: where its globs are for a branch and for its root.
func (p *partition) candidates(s *subject) [][]*entry {
	keys := []bucketKey{
		{field: anyKey},
		{field: repositoryKey, value: s.Repository},
		{field: branchKey, value: s.branch},
		{field: branchRootKey, value: root(s.branch)},
		{field: deploymentTypeKey, value: s.DeploymentType},
	}
	for name, value := range s.Variables {
		// No expression can hold a longer value to compare with.
		if len(value) <= maxExpressionBytes {
			keys = append(keys, bucketKey{field: variableKey, variable: name, value: value})
		}
	}
	var candidates [][]*entry
	for _, key := range keys {
		if bucket := p.buckets[key]; len(bucket) > 0 {
			candidates = append(candidates, bucket)
		}
	}
	return candidates
}

// keys are the choices of where to put a Trigger: for each condition that has keys, all of them.
func (m *Matcher) keys() [][]bucketKey {
	var choices [][]bucketKey
	if len(m.repositories) > 0 {
		choices = append(choices, keysOf(repositoryKey, m.repositories))
	}
	if m.branches != nil && m.branches.rooted() {
		choices = append(choices, m.branches.keys())
	}
	if m.expression != nil {
		for _, r := range m.expression.required {
			choices = append(choices, []bucketKey{{field: variableKey, variable: r.variable, value: r.value}})
		}
	}
	if len(m.deploymentTypes) > 0 {
		choices = append(choices, keysOf(deploymentTypeKey, m.deploymentTypes))
	}
	return choices
}

func keysOf(field keyField, values []string) []bucketKey {
	keys := make([]bucketKey, 0, len(values))
	for _, value := range values {
		keys = append(keys, bucketKey{field: field, value: value})
	}
	return keys
}

// rooted reports whether the first segment is known of every branch that can match.
func (b *branchGlobs) rooted() bool {
	unknown := func(g glob) bool { _, known := g.root(); return !known }
	return len(b.include) > 0 && !slices.ContainsFunc(b.include, unknown)
}

func (b *branchGlobs) keys() []bucketKey {
	keys := make([]bucketKey, 0, len(b.include))
	for _, g := range b.include {
		if segment, _ := g.root(); g.literal {
			keys = append(keys, bucketKey{field: branchKey, value: g.pattern})
		} else {
			keys = append(keys, bucketKey{field: branchRootKey, value: segment})
		}
	}
	return keys
}
