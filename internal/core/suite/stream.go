package suite

import (
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/notification"
)

// stream identifies the Suites of a namespace that supersede each other. The zero value is no stream.
type stream struct{ trigger, environment, key string }

// streamOf gives a whole Environment a stream without a Trigger, which no Trigger's stream equals.
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

// branchKey puts deployments without a branch into one stream per environment.
func branchKey(branch, environment string) string {
	return notification.BranchName(branch) + "/" + environment
}

// SameCommit reports whether Suites of different Triggers test one commit: another attempt of one is no newer deployment.
func SameCommit(a, b *v1alpha1.Suite) bool {
	return a.Spec.Deployment.SHA != "" && a.Spec.Deployment.SHA == b.Spec.Deployment.SHA && a.Spec.Trigger.Name != b.Spec.Trigger.Name
}

// Siblings reports whether Suites of different Triggers answer one notification: neither supersedes or waits for the other.
func Siblings(a, b *v1alpha1.Suite) bool {
	request := a.Annotations[AnnotationRequestID]
	return request != "" && request == b.Annotations[AnnotationRequestID] && a.Spec.Trigger.Name != b.Spec.Trigger.Name
}
