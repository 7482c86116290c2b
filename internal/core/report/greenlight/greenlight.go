// Package greenlight decides whether a pipeline that waits for a run may continue.
package greenlight

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// Relevant is root or, if it has successors, the last of them. Once this run was superseded, it is the newest later run of its stream and
// Trigger: tests of other Triggers differ. A run that is about to be superseded counts, because it may still end by itself. Runs of a
// schedule supersede none.
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

// isSuccessor reports whether a run counts for another one as its successor, and not as a newer deployment.
func isSuccessor(relevant, root *v1alpha1.Suite) bool {
	request := root.Annotations[v1alpha1.AnnotationRequestID]
	same := commit.Of(root.Spec.Deployment).Same(commit.Of(relevant.Spec.Deployment)) || request != "" &&
		request == relevant.Annotations[v1alpha1.AnnotationRequestID]
	return root.Status.RepeatedBy != "" && relevant != root && (relevant.Name == root.Status.RepeatedBy || same)
}

// Of returns the answer about root, for which the relevant run counts.
func Of(root, relevant *v1alpha1.Suite, url func(*v1alpha1.Suite) string) httpapi.Greenlight {
	stage := stageOf(relevant)
	answer := httpapi.Greenlight{
		RootRunID:              root.Name,
		RootRunURL:             url(root),
		RelevantRunID:          relevant.Name,
		RepeatedByRunID:        root.Status.RepeatedBy,
		RelevantRunURL:         url(relevant),
		RelevantRunWithBugsURL: url(relevant),
		RunStage:               stage,
		URL:                    relevant.Spec.Deployment.URL,
		VariablesDigest:        relevant.Annotations[v1alpha1.AnnotationVariablesDigest],
		WorkflowsInRunCount:    1,
	}
	if relevant == root && !root.Finished() { // the successor may not be created yet
		answer.RepeatedByRunID = ""
	}
	if isSuccessor(relevant, root) { // clients must not take it for a newer deployment
		answer.RepeatedByRunID, answer.RelevantRunID = relevant.Name, root.Name
	}
	condition := meta.FindStatusCondition(relevant.Status.Conditions, v1alpha1.ConditionSucceeded)
	switch {
	case stage == httpapi.Completed:
		answer.Greenlight = relevant.Passed()
		answer.Bugs = bugs(relevant, url(relevant))
		if at := relevant.Status.CompletionTime; at != nil {
			answer.CompletedAt = new(at.UTC())
		}
	case condition != nil: // of a run without a verdict, too
		answer.RunState, answer.RunMessage = condition.Reason, condition.Message
	}
	return answer
}

// stageOf first checks whether the run has ended, so that no future reason of the condition makes a client wait for a run that is over.
// A superseded run is relevant only if no newer run of its Trigger exists; then there will be no result.
func stageOf(s *v1alpha1.Suite) httpapi.Stage {
	switch {
	case !s.Finished():
		return httpapi.Initializing
	case state.Of(s.State()).NoVerdict:
		return httpapi.Canceled
	default:
		return httpapi.Completed
	}
}

func bugs(s *v1alpha1.Suite, url string) *httpapi.Bugs {
	b := &httpapi.Bugs{
		BlockingBugURLs: []string{}, NonBlockingBugURLs: []string{},
		ReproducedBugs: []httpapi.Bug{}, OtherBlockingBugsInEnvironment: []httpapi.Bug{},
	}
	if s.Passed() {
		return b
	}
	b.BlockingBugsCount = 1
	b.BlockingBugURLs = append(b.BlockingBugURLs, url)
	b.ReproducedBugs = append(b.ReproducedBugs, httpapi.Bug{
		ApplicationURL: url, IsBlocking: true, IsNew: true, Name: name(s), Number: 1, Priority: "urgent",
	})
	return b
}

func name(s *v1alpha1.Suite) string {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c.Message == "" {
		return c.Reason
	}
	return c.Reason + ": " + c.Message
}
