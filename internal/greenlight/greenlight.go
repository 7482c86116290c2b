package greenlight

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

// Answer is what a pipeline is told.
type Answer = httpapi.Greenlight

// Relevant is the run that counts for root: root itself, or, once it was superseded, the newest run of
// its stream and its Trigger that came after it. A stream may have runs of several Triggers, whose tests
// say nothing about these: where only such a run came after it, root itself counts. A run that is only
// about to be superseded still counts: it may yet end by itself.
func Relevant(root *v1alpha1.Suite, stream []*v1alpha1.Suite) *v1alpha1.Suite {
	if root.State() != v1alpha1.ReasonSuperseded {
		return root
	}
	relevant := root
	for _, other := range stream {
		if other.Spec.Trigger.Name == root.Spec.Trigger.Name && suite.Compare(other, relevant) > 0 {
			relevant = other
		}
	}
	return relevant
}

// Of is the answer about root, for which the relevant run counts.
func Of(root, relevant *v1alpha1.Suite, url func(*v1alpha1.Suite) string) Answer {
	stage := stageOf(relevant)
	answer := Answer{
		RootRunID:              root.Name,
		RootRunURL:             url(root),
		RelevantRunID:          relevant.Name,
		RelevantRunURL:         url(relevant),
		RelevantRunWithBugsURL: url(relevant),
		RunStage:               stage,
		WorkflowsInRunCount:    1,
	}
	condition := meta.FindStatusCondition(relevant.Status.Conditions, v1alpha1.ConditionSucceeded)
	switch {
	case stage == httpapi.Completed:
		answer.Greenlight = relevant.Passed()
		answer.Bugs = bugs(relevant, url(relevant))
	case stage == httpapi.Initializing && condition != nil:
		answer.RunState, answer.RunMessage = condition.Reason, condition.Message
	}
	return answer
}

// stageOf goes by whether the run has ended first, so that no word the condition may have one day
// can make a client wait for a run that is over. A superseded run is the relevant one only where no
// newer run of its Trigger exists; nothing more will be known.
func stageOf(s *v1alpha1.Suite) httpapi.Stage {
	switch {
	case !s.Finished():
		return httpapi.Initializing
	case s.State() == v1alpha1.ReasonCanceled, s.State() == v1alpha1.ReasonSuperseded:
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

// name is why the run did not pass, as its condition says.
func name(s *v1alpha1.Suite) string {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c.Message == "" {
		return c.Reason
	}
	return c.Reason + ": " + c.Message
}
