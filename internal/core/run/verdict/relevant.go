package verdict

import (
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// Relevant returns the run that counts for a pipeline that waits for root: root or, if it has successors, the last of them. Once this run
// was superseded, it is the newest later run of its stream and Trigger: tests of other Triggers differ. A run that is about to be
// superseded counts, because it may still end by itself. Runs of a schedule supersede none.
func Relevant(root *v1alpha1.Suite, successors []*v1alpha1.Suite) *v1alpha1.Suite {
	root = lastSuccessor(root, successors)
	if root.State() != v1alpha1.ReasonSuperseded {
		return root
	}
	relevant := root
	for _, other := range successors {
		requested := other.Origin() != v1alpha1.OriginSchedule || ledger.IsDeployment(other)
		if other.Spec.Trigger.Name == root.Spec.Trigger.Name && requested && ledger.Answers(other, relevant) {
			relevant = other
		}
	}
	return relevant
}

// lastSuccessor returns the last run that follows a run without a result, or the run. A deleted one has no result.
func lastSuccessor(root *v1alpha1.Suite, successors []*v1alpha1.Suite) *v1alpha1.Suite {
	for range successors { // a successor may have a successor
		i := slices.IndexFunc(successors, func(s *v1alpha1.Suite) bool { return s.Name == root.Status.RepeatedBy })
		if root.Status.RepeatedBy == "" || i < 0 {
			break
		}
		root = successors[i]
	}
	return root
}

// IsSuccessor reports whether a run counts for another one as its successor, and not as a newer deployment.
func IsSuccessor(relevant, root *v1alpha1.Suite) bool {
	request := root.Annotations[v1alpha1.AnnotationRequestID]
	same := commit.Of(root.Spec.Deployment).Same(commit.Of(relevant.Spec.Deployment)) || request != "" &&
		request == relevant.Annotations[v1alpha1.AnnotationRequestID]
	return root.Status.RepeatedBy != "" && relevant != root && (relevant.Name == root.Status.RepeatedBy || same)
}
