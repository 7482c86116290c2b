// Package greenlight writes the verdict of a run as pipelines that wait for it read it.
package greenlight

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/state"
)

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
	if verdict.IsSuccessor(relevant, root) { // clients must not take it for a newer deployment
		answer.RepeatedByRunID, answer.RelevantRunID = relevant.Name, root.Name
	}
	condition := meta.FindStatusCondition(relevant.Status.Conditions, v1alpha1.ConditionSucceeded)
	switch {
	case stage == httpapi.Completed:
		answer.Greenlight = verdict.RunPassed(relevant)
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
	if verdict.RunPassed(s) {
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
