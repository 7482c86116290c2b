// Package greenlight decides whether a pipeline that waits for a run may go on.
//
// It is pure: the run and the one that counts for it in, the answer out. Existing clients read the names of the
// fields.
package greenlight

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

// Stage is how far the relevant run is. For clients any other word is an error.
type Stage string

// The stages. Clients know one more, underReview, for results that people look at; ours come from the test alone.
const (
	Initializing Stage = "initializing" // queued, running, or being stopped
	Completed    Stage = "completed"    // ended by itself, well or not
	Canceled     Stage = "canceled"     // stopped, without a result
)

// Answer says whether a pipeline may go on.
type Answer struct {
	Greenlight             bool   `json:"greenlight"`
	RootRunID              string `json:"rootRunId"` // the run that was asked for
	RootRunURL             string `json:"rootRunUrl"`
	RelevantRunID          string `json:"relevantRunId"` // the run that counts for it
	RelevantRunURL         string `json:"relevantRunUrl"`
	RelevantRunWithBugsURL string `json:"relevantRunWithBugsUrl"`
	RunStage               Stage  `json:"runStage"`

	// For clients a run is one workflow.
	WorkflowsInRunCount              int `json:"workflowsInRunCount"`
	WorkflowsUnderInvestigationCount int `json:"workflowsUnderInvestigationCount"`
	WorkflowsDisabledAfterRunCount   int `json:"workflowsDisabledAfterRunCount"`

	*Bugs // of a completed run
}

// Bugs are none, or one if the run did not pass. The lists are never null, because clients iterate over them.
type Bugs struct {
	BlockingBugsCount              int      `json:"blockingBugsCount"`
	NonBlockingBugsCount           int      `json:"nonBlockingBugsCount"`
	BlockingBugURLs                []string `json:"blockingBugUrls"`
	NonBlockingBugURLs             []string `json:"nonBlockingBugUrls"`
	ReproducedBugs                 []Bug    `json:"reproducedBugs"`
	OtherBlockingBugsInEnvironment []Bug    `json:"otherBlockingBugsInEnvironment"`
}

// Bug is why a run did not pass.
type Bug struct {
	ApplicationURL string `json:"applicationUrl"`
	IsBlocking     bool   `json:"isBlocking"`
	IsNew          bool   `json:"isNew"`
	Name           string `json:"name"`
	Number         int    `json:"number"`
	Priority       string `json:"priority"`
}

// Relevant is the run that counts for root: root itself, or, once it was superseded, the newest later run of its
// stream and its Trigger. Runs of other Triggers in the stream do not count, because their tests differ. A run
// that is about to be superseded counts: it may still end by itself.
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
	if stage == Completed {
		answer.Greenlight = relevant.Passed()
		answer.Bugs = bugs(relevant, url(relevant))
	}
	return answer
}

// Final reports whether the answer will never change.
func (a Answer) Final() bool { return a.RunStage != Initializing }

// Same reports whether nothing has changed for a client that waits.
func (a Answer) Same(b Answer) bool {
	return a.RunStage == b.RunStage && a.RelevantRunID == b.RelevantRunID
}

// stageOf first checks whether the run has ended, so that no future reason of the condition makes a client wait
// for a run that is over. A superseded run is relevant only if no newer run of its Trigger exists; then there
// will be no result.
func stageOf(s *v1alpha1.Suite) Stage {
	switch {
	case !s.Finished():
		return Initializing
	case s.State() == v1alpha1.ReasonCanceled, s.State() == v1alpha1.ReasonSuperseded:
		return Canceled
	default:
		return Completed
	}
}

func bugs(s *v1alpha1.Suite, url string) *Bugs {
	b := &Bugs{
		BlockingBugURLs: []string{}, NonBlockingBugURLs: []string{},
		ReproducedBugs: []Bug{}, OtherBlockingBugsInEnvironment: []Bug{},
	}
	if s.Passed() {
		return b
	}
	b.BlockingBugsCount = 1
	b.BlockingBugURLs = append(b.BlockingBugURLs, url)
	b.ReproducedBugs = append(b.ReproducedBugs, Bug{
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
