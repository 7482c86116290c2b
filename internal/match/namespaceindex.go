package match

import "slices"

// namespaceIndex holds the Triggers of one namespace, so that few of them have to be tried for a
// notification. Each Trigger is in the buckets of one of its criteria, whichever has the emptiest: it can
// match only notifications that name the key of such a bucket. A scan would do without: of 10,000
// Triggers that ask for a variable it takes 4 to 8 ms, and 2 are allowed (BenchmarkScanAgainstIndex).
type namespaceIndex struct {
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

func newNamespaceIndex() *namespaceIndex {
	return &namespaceIndex{byName: map[string]placed{}, buckets: map[bucketKey][]*entry{}}
}

func (x *namespaceIndex) set(e *entry) {
	x.delete(e.trigger.Name)
	keys := x.place(e)
	x.byName[e.trigger.Name] = placed{entry: e, keys: keys}
	for _, key := range keys {
		bucket := x.buckets[key]
		if i, found := slices.BinarySearchFunc(bucket, e, byName); !found {
			x.buckets[key] = slices.Concat(bucket[:i], []*entry{e}, bucket[i:])
		}
	}
}

func (x *namespaceIndex) delete(name string) {
	for _, key := range x.byName[name].keys {
		bucket := slices.DeleteFunc(slices.Clone(x.buckets[key]), func(e *entry) bool { return e.trigger.Name == name })
		if len(bucket) == 0 {
			delete(x.buckets, key)
		} else {
			x.buckets[key] = bucket
		}
	}
	delete(x.byName, name)
}

// place chooses the criterion whose buckets hold the least by now: a team may have many repositories
// or one, and as many branches or types. It is none where the Trigger does not compile.
func (x *namespaceIndex) place(e *entry) []bucketKey {
	if e.matcher == nil {
		return nil
	}
	var choices [][]bucketKey
	for _, c := range e.matcher.criteria {
		choices = append(choices, c.Keys()...)
	}
	if len(choices) == 0 {
		return []bucketKey{{field: anyKey}}
	}
	return slices.MinFunc(choices, func(a, b []bucketKey) int { return x.load(a) - x.load(b) })
}

// load is how many Triggers are tried for the keys already.
func (x *namespaceIndex) load(keys []bucketKey) int {
	load := 0
	for _, key := range keys {
		load += len(x.buckets[key])
	}
	return load
}

// candidates may name a Trigger twice: where its globs are for a branch and for its root.
func (x *namespaceIndex) candidates(a *activation) [][]*entry {
	keys := []bucketKey{
		{field: anyKey},
		{field: repositoryKey, value: a.Repository},
		{field: branchKey, value: a.branch},
		{field: branchRootKey, value: root(a.branch)},
		{field: deploymentTypeKey, value: a.DeploymentType},
	}
	for name, value := range a.Variables {
		// No expression can hold a longer value to compare with.
		if len(value) <= maxExpressionBytes {
			keys = append(keys, bucketKey{field: variableKey, variable: name, value: value})
		}
	}
	var candidates [][]*entry
	for _, key := range keys {
		if bucket := x.buckets[key]; len(bucket) > 0 {
			candidates = append(candidates, bucket)
		}
	}
	return candidates
}
