package suite

import (
	"cmp"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// StreamKey names the stream of a Suite within its namespace, empty where it has none. Runs of one
// stream test the same thing at the same place, so that a newer one makes the older ones pointless.
func StreamKey(s *v1alpha1.Suite) string {
	x := streamOf(s)
	if x == (stream{}) {
		return ""
	}
	return hash(x.trigger, x.environment, x.key)
}

// Compare orders Suites by when their deployments were last notified, and by name: a total order on which every replica
// agrees, whatever the order in which the API server stored them. Those that were restored from a backup come
// before all others: they supersede no run of a living stream.
func Compare(a, b *v1alpha1.Suite) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CompareNotified(b), strings.Compare(a.Name, b.Name))
}

func rank(s *v1alpha1.Suite) int {
	if s.Restored() {
		return 0
	}
	return 1
}

// others are the Suites of a stream without s. A cache may have a later copy of it, which was notified again.
func others(s *v1alpha1.Suite, stream []*v1alpha1.Suite) []*v1alpha1.Suite {
	return slices.DeleteFunc(slices.Clone(stream), func(other *v1alpha1.Suite) bool { return other.Name == s.Name })
}

// newest of a stream; nil where there is none.
func newest(stream []*v1alpha1.Suite) *v1alpha1.Suite {
	if len(stream) == 0 {
		return nil
	}
	return slices.MaxFunc(stream, Compare)
}

// newerThan s is the newest Suite of its stream that is newer than s and tests another deployment; nil where
// there is none, or where s answers the newest notification.
func newerThan(s *v1alpha1.Suite, stream []*v1alpha1.Suite) *v1alpha1.Suite {
	stream = others(s, stream)
	if n := newest(stream); n == nil || Compare(n, s) <= 0 || Siblings(n, s) {
		return nil
	}
	n := newest(slices.DeleteFunc(stream, func(other *v1alpha1.Suite) bool { return SameCommit(other, s) }))
	if n == nil || Compare(n, s) <= 0 {
		return nil
	}
	return n
}

// unfinishedBefore is the newest Suite of the stream that is older than s, no sibling, and has not ended.
func unfinishedBefore(s *v1alpha1.Suite, stream []*v1alpha1.Suite) *v1alpha1.Suite {
	var older []*v1alpha1.Suite
	for _, other := range others(s, stream) {
		if !other.Finished() && Compare(other, s) < 0 && !Siblings(other, s) {
			older = append(older, other)
		}
	}
	return newest(older)
}
