package match

import (
	"slices"

	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
)

// namespaceIndex holds the Triggers of one namespace in buckets. A Trigger is in the buckets of one of its criteria, and matches only
// notifications with the key of such a bucket. A scan of 10,000 Triggers takes 4 to 8 ms; 2 are allowed (BenchmarkScanAgainstIndex).
type namespaceIndex struct {
	byName  map[string]*entry
	buckets map[bucketKey][]*entry // ordered by name; replaced, never changed, so that readers need no lock
	pending map[string]*entry      // those of byName whose expression is not compiled
}

func newNamespaceIndex() *namespaceIndex {
	return &namespaceIndex{byName: map[string]*entry{}, buckets: map[bucketKey][]*entry{}, pending: map[string]*entry{}}
}

// bucketKey is a value that a field of the notification must have, as the field is compared.
type bucketKey struct {
	field    keyField
	variable string // its name, for variableKey
	value    string
}

type keyField int

const (
	anyKey keyField = iota // for Triggers that are tried on every notification; it has no value
	repositoryKey
	branchKey
	branchRootKey // the first segment of a branch: the text before the first slash
	variableKey
	serviceKey
	deploymentTypeKey
)

func (x *namespaceIndex) set(e *entry) {
	x.delete(e.trigger.Name)
	e.keys = x.chooseKeys(e.matcher)
	x.byName[e.trigger.Name] = e
	for _, key := range e.keys {
		bucket := x.buckets[key]
		if i, found := slices.BinarySearchFunc(bucket, e, byName); !found {
			x.buckets[key] = slices.Concat(bucket[:i], []*entry{e}, bucket[i:])
		}
	}
}

func (x *namespaceIndex) delete(name string) {
	old := x.byName[name]
	if old == nil {
		return
	}
	delete(x.byName, name)
	delete(x.pending, name)
	for _, key := range old.keys {
		x.buckets[key] = slices.DeleteFunc(slices.Clone(x.buckets[key]), func(e *entry) bool { return e == old })
		if len(x.buckets[key]) == 0 {
			delete(x.buckets, key)
		}
	}
}

// chooseKeys returns the keys of the criterion whose buckets hold the fewest Triggers, and none for a Trigger that does not compile.
func (x *namespaceIndex) chooseKeys(m *Matcher) []bucketKey {
	if m == nil || !m.isPending() && m.compile() != nil {
		return nil
	}
	var choices [][]bucketKey
	for _, c := range m.criteria {
		choices = append(choices, c.keys()...)
	}
	if len(choices) == 0 {
		return []bucketKey{{field: anyKey}}
	}
	return slices.MinFunc(choices, func(a, b []bucketKey) int { return x.load(a) - x.load(b) })
}

func (x *namespaceIndex) load(keys []bucketKey) int {
	load := 0
	for _, key := range keys {
		load += len(x.buckets[key])
	}
	return load
}

// candidates returns the buckets for a notification. A Trigger may be in two: of a branch, and of its root.
func (x *namespaceIndex) candidates(a *activation) [][]*entry {
	keys := []bucketKey{
		{field: anyKey},
		{field: repositoryKey, value: commit.RepositoryKey(a.Repository)},
		{field: branchKey, value: a.branch},
		{field: branchRootKey, value: root(a.branch)},
		{field: serviceKey, value: a.Service},
		{field: deploymentTypeKey, value: a.DeploymentType},
	}
	for name, value := range a.Variables {
		if len(value) <= maxExpressionBytes { // no expression can hold a longer value
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
