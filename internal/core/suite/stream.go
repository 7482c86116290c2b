package suite

import (
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/notification"
)

// stream identifies the Suites of a namespace that supersede each other. The zero value is no stream.
type stream struct{ trigger, environment, key string }

// streamOf alone defines what a stream is; all other code compares streams, or their keys. No Trigger has an
// empty name, so a stream of a whole Environment is never one of a Trigger.
func streamOf(s *v1alpha1.Suite) stream {
	spec := &s.Spec
	switch {
	case spec.SupersedeKey != "":
		return stream{spec.Trigger.Name, spec.Environment, spec.SupersedeKey}
	case spec.Supersede == v1alpha1.SupersedeNone:
		return stream{}
	case spec.Supersede == v1alpha1.SupersedeEnvironment:
		return stream{environment: spec.Environment}
	default:
		return stream{spec.Trigger.Name, spec.Environment, branchKey(spec.Deployment.Branch, spec.Environment)}
	}
}

// branchKey is the supersedeKey of a branch. Deployments without a branch share one stream per
// environment: they are all "the" deployment there.
func branchKey(branch, environment string) string {
	return notification.BranchName(branch) + "/" + environment
}

// SameCommit reports whether two Suites of different Triggers test one commit: another attempt of one of them
// is no newer deployment.
func SameCommit(a, b *v1alpha1.Suite) bool {
	return a.Spec.Deployment.SHA != "" && a.Spec.Deployment.SHA == b.Spec.Deployment.SHA && a.Spec.Trigger.Name != b.Spec.Trigger.Name
}

// Siblings reports whether two Suites answer the same notification, for different Triggers. They test
// the same deployment, so that in the stream of an Environment neither supersedes the other nor waits
// for it. A Trigger has one Suite per notification; another one is a copy made by hand.
func Siblings(a, b *v1alpha1.Suite) bool {
	request := a.Annotations[AnnotationRequestID]
	return request != "" && request == b.Annotations[AnnotationRequestID] && a.Spec.Trigger.Name != b.Spec.Trigger.Name
}
