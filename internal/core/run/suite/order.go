package suite

import (
	"cmp"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// Stream identifies the Suites of a namespace that supersede each other. The zero value is no stream.
type Stream struct{ Trigger, Environment, Key, Service string }

// StreamOf gives a whole Environment a stream without a Trigger, which no Trigger's stream equals. Each service has streams of its own.
func StreamOf(s *v1alpha1.Suite) Stream {
	spec, service := &s.Spec, s.Spec.Deployment.Service
	switch {
	case spec.SupersedeKey != "":
		return Stream{spec.Trigger.Name, spec.Environment, spec.SupersedeKey, service}
	case spec.Supersede == v1alpha1.SupersedeNone:
		return Stream{}
	case spec.Supersede == v1alpha1.SupersedeEnvironment:
		return Stream{Environment: spec.Environment, Service: service}
	default:
		return Stream{spec.Trigger.Name, spec.Environment, branchKey(spec.Deployment.Branch, spec.Environment), service}
	}
}

// branchKey puts deployments without a branch into one stream per environment.
func branchKey(branch, environment string) string {
	return notification.BranchName(branch) + "/" + environment
}

// StreamKey identifies the stream of a Suite within its namespace, or is "". A newer run of a stream makes older ones pointless.
func StreamKey(s *v1alpha1.Suite) string {
	x := StreamOf(s)
	if x == (Stream{}) {
		return ""
	}
	return Hash(x.Trigger, x.Environment, x.Key, x.Service)
}

// SameCommitOfOtherTrigger reports whether Suites of different Triggers test one commit: another attempt of one is no newer deployment.
func SameCommitOfOtherTrigger(a, b *v1alpha1.Suite) bool {
	return a.Spec.Trigger.Name != b.Spec.Trigger.Name && commit.Of(a.Spec.Deployment).Same(commit.Of(b.Spec.Deployment))
}

// Siblings reports whether Suites of different Triggers answer one notification: neither supersedes or waits for the other.
func Siblings(a, b *v1alpha1.Suite) bool {
	request := a.Annotations[v1alpha1.AnnotationRequestID]
	return request != "" && request == b.Annotations[v1alpha1.AnnotationRequestID] && a.Spec.Trigger.Name != b.Spec.Trigger.Name
}

// others omits every copy of s: a cache may have a later one, which was notified again.
func others(s *v1alpha1.Suite, stream []*v1alpha1.Suite) []*v1alpha1.Suite {
	return slices.DeleteFunc(slices.Clone(stream), func(other *v1alpha1.Suite) bool { return other.Name == s.Name })
}

func newest(stream []*v1alpha1.Suite) *v1alpha1.Suite {
	if len(stream) == 0 {
		return nil
	}
	return slices.MaxFunc(stream, ledger.Compare)
}

// NewerDeployment returns the newest Suite of another deployment if it is newer than s, and nil if s answers the newest notification. What
// was started again is no deployment, and supersedes nothing; nor does the run that repeats s, which exists before the end of s is written.
func NewerDeployment(s *v1alpha1.Suite, stream []*v1alpha1.Suite) *v1alpha1.Suite {
	newer := slices.DeleteFunc(others(s, stream), func(other *v1alpha1.Suite) bool {
		return !ledger.IsDeployment(other) || isSuccessor(other, s) || ledger.Compare(other, s) <= 0
	})
	if n := newest(newer); n == nil || Siblings(n, s) {
		return nil
	}
	return newest(slices.DeleteFunc(newer, func(other *v1alpha1.Suite) bool { return SameCommitOfOtherTrigger(other, s) }))
}

// isSuccessor does not trust the annotation alone, which anyone can write who creates Suites.
func isSuccessor(other, s *v1alpha1.Suite) bool {
	return other.Annotations[v1alpha1.AnnotationRepeats] == s.Name && other.Spec.Deployment == s.Spec.Deployment
}

// UnfinishedBefore returns the newest Suite that is older than s, is no sibling, and has not ended.
func UnfinishedBefore(s *v1alpha1.Suite, stream []*v1alpha1.Suite) *v1alpha1.Suite {
	return newest(slices.DeleteFunc(others(s, stream), func(other *v1alpha1.Suite) bool {
		return other.Finished() || ledger.Compare(other, s) >= 0 || Siblings(other, s)
	}))
}

// LastPassed returns the other run of the same Trigger, Environment, service and variables that passed last and whose tests were counted,
// or nil. One that repeated only failed tests has not run all.
func LastPassed(s *v1alpha1.Suite, runs []*v1alpha1.Suite) (last *v1alpha1.Suite) {
	for _, other := range runs {
		passed := state.Of(other.State()).Green && other.Status.CompletionTime != nil
		counted := passed && other.Spec.OnlyFailedOf == nil && other.Status.Results != nil
		if counted && sameTests(s, other) && (last == nil || other.Status.CompletionTime.After(last.Status.CompletionTime.Time)) {
			last = other
		}
	}
	return last
}

// MayPass reports whether LastPassed may find another run once that has ended.
func MayPass(s *v1alpha1.Suite, runs []*v1alpha1.Suite) bool {
	return slices.ContainsFunc(runs, func(other *v1alpha1.Suite) bool {
		return !other.Finished() && other.Spec.OnlyFailedOf == nil && sameTests(s, other)
	})
}

// sameTests reports whether two runs should have the same tests.
func sameTests(s, other *v1alpha1.Suite) bool {
	return other.Name != s.Name && other.Spec.Trigger.UID == s.Spec.Trigger.UID && other.SameTest(s) && digestOf(other) == digestOf(s)
}

// digestOf is that of the variables of a run. A Suite that somebody created by hand has no annotation.
func digestOf(s *v1alpha1.Suite) string {
	return cmp.Or(s.Annotations[v1alpha1.AnnotationVariablesDigest], VariablesDigest(s.Spec.Variables))
}
