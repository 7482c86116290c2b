package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
)

// Run is the page of a run, without its log and its artifacts.
type Run struct {
	Row
	Document Document
	Warnings []string

	Commit        *Link
	CommitMessage string
	CommitAuthor  string
	PullRequest   *Link
	DeployedAt    *Link
	Type          string
	CanceledBy    string // empty where the message says it
	StartedBy     string

	UnderTest           []Tested
	RepeatedBy, Repeats string // ids of runs
	Retries             int32  // how many errors in a row came before
	Debuggable          bool   // it ended badly, and its Job exists
	PodsKept            *Time  // until then at least; nil: they may be deleted
	OnlyFailedOf        string // the id of the run whose failed tests it repeats

	Other *OtherDeployment // a notification that was answered with this run

	Ended    *Time
	Timeline []Phase
	Inputs   []Input
	Job, Pod string // the selector of the pods
	Stopping bool   // it was canceled or superseded, and its pods still run

	Attempts     []Row // of the same commit, newest first, this one included
	SupersededBy *RunReference
	Successors   []Row // what took its place, and the place of that, newest first
	Supersedes   []Row // the runs that it superseded, and the runs that these superseded, newest first
	ComparedWith *RunReference

	Artifacts *v1alpha1.Artifacts
}

// RunReference is another run. Of a deleted one only the id is known.
type RunReference struct {
	ID, Label string
	Named     bool // the first sentence of the page has its id
}

// Input is a file that a run got.
type Input struct{ Path, Size, ETag string }

// Subject is what a page of a run is made of.
type Subject struct {
	Suite   *v1alpha1.Suite
	Job     *batchv1.Job      // nil without one
	Runs    []*v1alpha1.Suite // of the namespace, newest first
	Typical time.Duration     // that runs of the Trigger take; 0 if unknown
}

// RunOf returns the page of a run.
func RunOf(o Subject, now time.Time) Run {
	s := o.Suite
	run := Run{
		Row: RowOf(s, o.Typical, now), Warnings: failure.Warnings(s),
		Commit: Commit(s.Spec.Deployment), PullRequest: pullRequestOf(s),
		CommitMessage: s.Spec.Deployment.CommitMessage, CommitAuthor: s.Spec.Deployment.CommitAuthor,
		DeployedAt: DeployedAt(s.Spec.Deployment.URL),
		StartedBy: origin.StartedBy(s.Origin(), s.ScheduledFor(),
			s.Annotations[v1alpha1.AnnotationRerunBy]),
		UnderTest: underTest(s.Status.UnderTest), RepeatedBy: s.Status.RepeatedBy,
		Repeats: s.Annotations[v1alpha1.AnnotationRepeats], Retries: s.Retries(), OnlyFailedOf: s.FailedTestsOf(),
		Timeline: Timeline(s, o.Job, now), Job: s.Status.JobName, Pod: v1alpha1.LabelSuite + "=" + s.Name,
		Stopping: !s.Finished() && (s.Spec.Cancel || s.Status.SupersededBy != ""), Artifacts: s.Status.Artifacts,
	}
	if other := s.Status.AnsweredOther; other != nil {
		run.Other = otherDeployment(*other, now)
	}
	run.Debuggable = s.Finished() && state.Of(s.State()).Bad && o.Job != nil
	if until := s.Status.PodsKeptUntil; until != nil && now.Before(until.Time) {
		run.PodsKept = TimeOf(until.Time, now)
	}
	if s.Status.CompletionTime != nil {
		run.Ended = TimeOf(s.Status.CompletionTime.Time, now)
	}
	for _, i := range s.Status.Inputs {
		run.Inputs = append(run.Inputs, Input{Path: i.Path, Size: Bytes(i.Size), ETag: i.ETag})
	}
	run.relate(s, o.Runs, now)
	if by := s.Annotations[v1alpha1.AnnotationCanceledBy]; !strings.Contains(s.Succeeded().Message, by) {
		run.CanceledBy = by
	}
	if d := s.Spec.Deployment; d.Type != s.Spec.Environment {
		run.Type = d.Type
	}
	return run
}

// Title is what the run is, in the words of its team.
func (r Run) Title() string { return r.Name() + " on " + r.Environment }

// maxChain bounds the runs on a page that superseded each other.
const maxChain = 20

// relate relies on the order of the runs, newest first: what a run superseded comes after it.
func (r *Run) relate(s *v1alpha1.Suite, runs []*v1alpha1.Suite, now time.Time) {
	if r.SupersededBy = referenceTo(s.Status.SupersededBy); r.SupersededBy != nil {
		r.SupersededBy.Named = strings.Contains(r.Why, r.SupersededBy.ID)
	}
	if res := s.Status.Results; res != nil {
		r.ComparedWith = referenceTo(res.ComparedWith)
	}
	chain := map[string]bool{s.Name: true}
	for _, other := range runs {
		if sameRun(s, other) {
			r.Attempts = append(r.Attempts, RowOf(other, 0, now))
		}
		if chain[other.Status.SupersededBy] && len(chain) <= maxChain {
			chain[other.Name] = true
			r.Supersedes = append(r.Supersedes, RowOf(other, 0, now))
		}
		if c := r.ComparedWith; c != nil && other.Name == c.ID && other.Spec.Deployment.SHA != "" {
			c.Label = commit.ShortSHA(other.Spec.Deployment.SHA)
		}
	}
	if !slices.ContainsFunc(r.Attempts, func(a Row) bool { return a.ID == s.Name }) { // its Suite was deleted
		r.Attempts = append(r.Attempts, RowOf(s, 0, now))
	}
	r.addSuccessors(s, runs, now)
}

func (r *Run) addSuccessors(s *v1alpha1.Suite, runs []*v1alpha1.Suite, now time.Time) {
	next := s.Status.SupersededBy
	for _, other := range slices.Backward(runs) {
		if next == "" || len(r.Successors) == maxChain {
			break
		}
		if other.Name == next {
			r.Successors = append(r.Successors, RowOf(other, 0, now))
			next = other.Status.SupersededBy
		}
	}
	slices.Reverse(r.Successors)
}

func referenceTo(id string) *RunReference {
	if id == "" {
		return nil
	}
	return &RunReference{ID: id, Label: id}
}

// sameRun reports whether two Suites are attempts of one run.
func sameRun(a, b *v1alpha1.Suite) bool {
	return a.Name == b.Name || commit.Of(a.Spec.Deployment).Same(commit.Of(b.Spec.Deployment)) &&
		a.Spec.Trigger.UID == b.Spec.Trigger.UID && a.Spec.Environment == b.Spec.Environment
}

// Variable is a variable of a notification. A value that looks secret is masked.
type Variable struct{ Name, Value string }

// VariablesOf returns the variables of the notification, by name.
func VariablesOf(s *v1alpha1.Suite) []Variable {
	var all []Variable
	for name, value := range mask.Variables(s.Spec.Variables) {
		all = append(all, Variable{name, value})
	}
	slices.SortFunc(all, func(a, b Variable) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
