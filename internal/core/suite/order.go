package suite

import (
	"cmp"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// StreamKey identifies the stream of a Suite within its namespace, or is "". A newer run of a stream makes older ones pointless.
func StreamKey(s *v1alpha1.Suite) string {
	x := streamOf(s)
	if x == (stream{}) {
		return ""
	}
	return hash(x.trigger, x.environment, x.key)
}

// Compare orders Suites by their last notification and name, alike in all replicas; restored ones come first and supersede none.
func Compare(a, b *v1alpha1.Suite) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CompareNotified(b), strings.Compare(a.Name, b.Name))
}

func rank(s *v1alpha1.Suite) int {
	if s.Restored() {
		return 0
	}
	return 1
}

// others omits every copy of s: a cache may have a later one, which was notified again.
func others(s *v1alpha1.Suite, stream []*v1alpha1.Suite) []*v1alpha1.Suite {
	return slices.DeleteFunc(slices.Clone(stream), func(other *v1alpha1.Suite) bool { return other.Name == s.Name })
}

func newest(stream []*v1alpha1.Suite) *v1alpha1.Suite {
	if len(stream) == 0 {
		return nil
	}
	return slices.MaxFunc(stream, Compare)
}

// newerThan returns the newest Suite of another deployment if it is newer than s, and nil if s answers the newest notification. What a
// schedule started is no deployment, and supersedes nothing; nor does the run that repeats s, which exists before the end of s is written.
func newerThan(s *v1alpha1.Suite, stream []*v1alpha1.Suite) *v1alpha1.Suite {
	stream = slices.DeleteFunc(others(s, stream), func(other *v1alpha1.Suite) bool { return other.Scheduled() || repeatsRun(other, s) })
	if n := newest(stream); n == nil || Compare(n, s) <= 0 || Siblings(n, s) {
		return nil
	}
	n := newest(slices.DeleteFunc(stream, func(other *v1alpha1.Suite) bool { return SameCommit(other, s) }))
	if n == nil || Compare(n, s) <= 0 {
		return nil
	}
	return n
}

// repeatsRun does not trust the annotation alone, which anyone can write who creates Suites.
func repeatsRun(other, s *v1alpha1.Suite) bool {
	return other.Annotations[v1alpha1.AnnotationRepeats] == s.Name && other.Spec.Deployment == s.Spec.Deployment
}

// unfinishedBefore returns the newest Suite that is older than s, is no sibling, and has not ended.
func unfinishedBefore(s *v1alpha1.Suite, stream []*v1alpha1.Suite) *v1alpha1.Suite {
	var older []*v1alpha1.Suite
	for _, other := range others(s, stream) {
		if !other.Finished() && Compare(other, s) < 0 && !Siblings(other, s) {
			older = append(older, other)
		}
	}
	return newest(older)
}
