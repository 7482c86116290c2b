// Package failure composes the document that says why a run ended as it did, and what to do. Pages, checks, chats, the command line and
// agents show the same sentences.
package failure

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Observation is what is known of a run. Only the Suite is required.
type Observation struct {
	Suite    *v1alpha1.Suite
	Team     string
	Page     string // the address of its page
	Archived bool   // its Suite was deleted

	Changed     *httpapi.Changed
	Explanation *results.Explanation   // what the documents of its pods say; nil: unknown
	History     map[string]TestHistory // of failed tests, by name
	Log         *httpapi.LogExcerpt
	Problems    []string // sentences: what could not be read
}

// TestHistory is what is known of a test in the place of the run.
type TestHistory struct {
	Since       *httpapi.FailingSince
	Runs, Flaky int
}

// Of composes the document.
func Of(o Observation) httpapi.Failure {
	s := o.Suite
	f := httpapi.Failure{
		Run: s.Name, State: cmp.Or(s.State(), v1alpha1.ReasonQueued), Green: verdict.RunPassed(s), Summary: Summary(s), Tested: tested(o),
		Changed: o.Changed, Cluster: Warnings(s), Log: o.Log, Omitted: problems(o.Problems), URL: o.Page,
	}
	if s.Status.Results != nil {
		f.Tests = tests(o)
		f.Omitted = append(f.Omitted, cutTexts(f.Tests, s)...)
	}
	f.Next = next(o)
	return bounded(f, s)
}

// Summary says what happened to a run, or what it waits for.
func Summary(s *v1alpha1.Suite) string {
	c := s.Succeeded()
	message := strings.Replace(outcome.WithoutLogCommands(c.Message, s.Name), " "+results.RerunAdvice, "", 1) // Next has the command
	switch {
	case message != "":
		return sentence(plaintext.Line(message, maxSummary))
	case c.Reason != "":
		return state.Of(c.Reason).Label + "."
	default:
		return "Received. The run waits until Postflight's leader has seen it."
	}
}

// sentence ends a text that quotes the output of a program.
func sentence(text string) string {
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// Warnings are what people should know of a run besides its end, as sentences.
func Warnings(s *v1alpha1.Suite) (all []string) {
	said := s.Succeeded().Message
	add := func(message string) {
		if message != "" && !strings.Contains(said, message) {
			all = append(all, plaintext.Line(message, maxSummary))
		}
	}
	for _, kind := range []string{
		v1alpha1.ConditionObjectsFound, v1alpha1.ConditionInputsReady, v1alpha1.ConditionJobAccepted,
		v1alpha1.ConditionResultsCollected, v1alpha1.ConditionArchived,
	} {
		c := meta.FindStatusCondition(s.Status.Conditions, kind)
		waits := kind == v1alpha1.ConditionObjectsFound && !s.Finished() // its message says for what
		if c != nil && c.Status == metav1.ConditionFalse && !waits {
			add(c.Message)
		}
	}
	add(s.Status.PodProblem)
	return all
}

func tested(o Observation) httpapi.Tested {
	r := record.RunOf(o.Team, o.Suite)
	return httpapi.Tested{
		Team: o.Team, Namespace: r.Namespace, Trigger: r.Trigger, Environment: r.Environment, Service: line(r.Service),
		Repository: line(r.Repository), SHA: line(r.SHA), Branch: line(r.Branch), URL: plaintext.Line(r.DeploymentURL, maxURL),
		CommitURL: plaintext.Line(r.CommitURL, maxURL), Message: line(r.CommitMessage), Author: line(r.CommitAuthor),
		Origin: r.Origin, EndedAt: r.EndedAt, UnderTest: plainUnderTest(r.UnderTest),
	}
}

// Name is the name of a test as a document has it.
func Name(name string) string { return line(name) }

func line(text string) string { return plaintext.Line(text, maxLine) }

func tests(o Observation) *httpapi.FailureTests {
	r := o.Suite.Status.Results
	all := &httpapi.FailureTests{Tests: r.Tests, Failed: r.Failed, NewFailures: r.NewFailures}
	for _, e := range explained(o) {
		h := o.History[e.Name]
		t := httpapi.FailedTest{Since: h.Since, Runs: h.Runs, Flaky: h.Flaky, TestFailure: httpapi.TestFailure{
			Name: line(e.Name), File: line(e.File), Line: e.Line, Message: plaintext.Line(e.Message, maxMessage), History: string(e.History),
			Quarantine: e.Quarantine, ExpiredQuarantine: e.ExpiredQuarantine, TextCut: e.TextCut,
		}}
		var cut bool
		t.Text, cut = plaintext.Block(e.Text, maxText)
		t.TextCut = t.TextCut || cut
		for _, file := range e.Files {
			t.Files = append(t.Files, httpapi.TestFile{Path: line(file.Path), Pod: e.Pod, Bytes: file.Bytes})
		}
		if mayRepeatFailed(o) {
			t.Repeat = rerun.FailedCommand(o.Suite)
		}
		all.Failures = append(all.Failures, t)
	}
	return all
}

// explained are the failures, new ones first, and those that do not count last.
func explained(o Observation) []results.Explained {
	var all []results.Explained
	if o.Explanation != nil {
		all = slices.Clone(o.Explanation.Failures)
	} else {
		for _, f := range o.Suite.Status.Results.Failures {
			all = append(all, results.Explained{Failure: results.Failure{TestFailure: f}})
		}
	}
	slices.SortStableFunc(all, func(a, b results.Explained) int { return cmp.Compare(importance(a), importance(b)) })
	return all
}

func importance(e results.Explained) int {
	rank := 3 * min(len(e.Quarantine), 1)
	switch e.History {
	case v1alpha1.FailureNew:
		return rank
	case v1alpha1.FailureKnown:
		return rank + 2
	default:
		return rank + 1
	}
}

// HistoryOf returns what is known of a test that failed in a run. A row of failures that began after the run, or in another service, says
// nothing about it.
func HistoryOf(p httpapi.TestInPlace, s *v1alpha1.Suite) TestHistory {
	h := TestHistory{Runs: p.Runs, Flaky: p.Flaky}
	if f := p.Failing; f != nil && f.First.Service == s.Spec.Deployment.Service && !f.First.CreatedAt.After(s.CreationTimestamp.Time) {
		h.Since = plainSince(*f)
	}
	return h
}
