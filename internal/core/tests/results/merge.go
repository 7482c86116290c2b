package results

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Pod is a pod of a run that has a summary.
type Pod struct {
	Name    string
	Index   *int      // completion index; nil if its Job has none
	Started time.Time // or created
	Ended   time.Time // zero: unknown
	Failed  bool      // the pod failed, so Kubernetes may have replaced it by a later one
	Ignored bool      // Kubernetes takes it for failed because of a container that does not count, and may have replaced it, too
	Worker  bool      // of a work queue: Kubernetes does not replace it once another pod has succeeded
	Summary Summary
}

// Merge returns the summary of a run. Of pods that did the same work, the last with a report counts, and unrepeated earlier failures. A
// test that was to be repeated passed if it passed somewhere and failed nowhere.
func Merge(pods []Pod) Summary {
	var all Summary
	var problems []string
	for _, attempts := range Attempts(pods) {
		if last := attempts[len(attempts)-1]; (!last.Failed || last.Worker) && last.Summary.Reports == 0 {
			all.Silent = append(all.Silent, last.Name)
		}
		all.add(combine(attempts, pods))
	}
	for _, p := range pods {
		increase(&all.Files, p.Summary.Files)
		increase(&all.Unkept, p.Summary.Unkept)
		all.Bytes += p.Summary.Bytes
		all.RerunPassed = all.RerunPassed.union(p.Summary.RerunPassed)
		if p.Summary.Problem != "" && !slices.Contains(problems, p.Summary.Problem) {
			problems = append(problems, p.Summary.Problem)
		}
	}
	all.RerunPassed = all.RerunPassed.Without(namesOf(all.Failures))
	if len(all.Failures) < int(all.Failed) { // it may be one of those without a name
		all.RerunPassed = ""
	}
	all.Problem = Join(problems)
	slices.SortStableFunc(all.Failures, newFirst)
	return all
}

// add ignores comparisons with another run than the first pod's.
func (s *Summary) add(o Summary) {
	increase(&s.Reports, o.Reports)
	increase(&s.Unread, o.Unread)
	increase(&s.Tests, o.Tests)
	increase(&s.Passed, o.Passed)
	increase(&s.Failed, o.Failed)
	increase(&s.Skipped, o.Skipped)
	increase(&s.Flaky, o.Flaky)
	increase(&s.Quarantined, o.Quarantined)
	increase(&s.QuarantinedRan, o.QuarantinedRan)
	s.addMatched(o.Matched)
	s.Milliseconds += o.Milliseconds
	increase(&s.Unrecovered, o.Unrecovered)
	s.Older = s.Older || o.Older
	s.Failures = append(s.Failures, o.Failures...)
	s.FlakyTests = append(s.FlakyTests, o.FlakyTests[:min(len(o.FlakyTests), maxFlaky-len(s.FlakyTests))]...)
	if s.ComparedWith = cmp.Or(s.ComparedWith, o.ComparedWith); s.ComparedWith == o.ComparedWith {
		increase(&s.NewFailures, o.NewFailures)
		increase(&s.KnownFailures, o.KnownFailures)
		increase(&s.Fixed, o.Fixed)
	}
}

func (s *Summary) addMatched(tests []int32) {
	for i, n := range tests {
		if i == len(s.Matched) {
			s.Matched = append(s.Matched, 0)
		}
		increase(&s.Matched[i], n)
	}
}

// increase never overflows, however many pods report whatever they like.
func increase(count *int32, by int32) { *count = int32(min(int64(*count)+int64(by), math.MaxInt32)) }

// Attempts collects pods with the same work, in order of start: of one completion index, or a failed pod and a pod that started after it.
func Attempts(pods []Pod) [][]Pod {
	pods = slices.SortedStableFunc(slices.Values(pods), byStart)
	var groups [][]Pod
	for _, p := range pods {
		i := slices.IndexFunc(groups, func(g []Pod) bool { return replaces(p, g[len(g)-1]) })
		if i < 0 {
			groups = append(groups, []Pod{p})
			continue
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

func byStart(a, b Pod) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Name, b.Name)) }

func replaces(p, earlier Pod) bool {
	if p.Index != nil && earlier.Index != nil {
		return *p.Index == *earlier.Index && byStart(earlier, p) < 0
	}
	return p.Index == nil && earlier.Index == nil && (earlier.Failed || earlier.Ignored) && !earlier.Ended.After(p.Started)
}

// namesOf also has the names without a number, because another test of the name may have been the first in its pod.
func namesOf(failures []v1alpha1.TestFailure) NameSet {
	names := make([]string, 0, 2*len(failures))
	for _, f := range failures {
		names = append(names, f.Name, unnumbered(f.Name))
	}
	return SetOf(names)
}
