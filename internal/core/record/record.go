package record

import (
	"cmp"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
)

// Record is what the archive keeps of a run, as JSON: the run as the HTTP API shows it, its logs, and the Suite.
type Record struct {
	httpapi.Run

	Logs  []Log           `json:"logs"`
	Suite *v1alpha1.Suite `json:"suite"`
}

// Log is the log of one container, or why there is none.
type Log struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Previous  bool   `json:"previous,omitempty"` // from before Kubernetes restarted the container
	Bytes     int64  `json:"bytes"`              // that the container wrote
	Omitted   int64  `json:"omitted,omitempty"`  // of them: bytes that were left out, between head and tail
	Problem   string `json:"problem,omitempty"`  // a sentence: why the log could not be saved; empty: it was
}

// Artifact is a file that a pod of a run wrote.
type Artifact struct {
	Pod, Path string
	Bytes     int64
}

// Results are the results document of a pod.
type Results struct {
	Pod     string
	Content []byte
}

// File is an artifact that is open.
type File struct {
	io.ReadSeekCloser
	Modified time.Time
	ETag     string // with its quotes; another content has another one
}

// BrokenLog is the problem of a log that could not be read to its end, and BrokenMark the last line of what was saved of it.
const (
	BrokenLog  = "The log could not be read to its end, so its last lines may be missing."
	BrokenMark = "[postflight: the rest of this log could not be read]\n"
)

// New returns the record of a finished Suite.
func New(team string, s *v1alpha1.Suite, logs []Log) Record {
	if logs == nil {
		logs = []Log{} // JSON: never null
	}
	kept := s.DeepCopy()
	kept.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Suite"}
	kept.ManagedFields = nil
	kept.Spec.Variables = mask.Variables(kept.Spec.Variables)
	return Record{Run: RunOf(team, s), Logs: logs, Suite: kept}
}

// RunOf returns a Suite as the HTTP API shows it, without the URL of its page.
func RunOf(team string, s *v1alpha1.Suite) httpapi.Run {
	d := s.Spec.Deployment
	r := httpapi.Run{
		ID: s.Name, Team: team, Namespace: s.Namespace, Trigger: s.Spec.Trigger.Name, Environment: s.Spec.Environment,
		State:  v1alpha1.ReasonQueued,
		Branch: d.Branch, SHA: d.SHA, DeploymentType: d.Type, DeploymentURL: d.URL, CommitURL: d.CommitURL,
		CommitMessage: d.CommitMessage, CommitAuthor: d.CommitAuthor, Repository: d.Repository, Service: d.Service,
		PullRequestNumber: d.PullRequestNumber,
		Attempt:           max(s.Spec.Attempt, 1), SupersededBy: s.Status.SupersededBy, DecidedBy: cmp.Or(state.Of(s.State()).DecidedBy,
			string(s.Status.DecidedBy)),
		CreatedAt: s.CreationTimestamp.UTC(), Results: results(s.Status.Results), Artifacts: artifacts(s.Status.Artifacts),
		UnderTest: underTest(
			s.Status.UnderTest), RepeatedBy: s.Status.RepeatedBy, Repeats: s.Annotations[v1alpha1.AnnotationRepeats], Retries: s.Retries(),
		OnlyFailedOf: s.FailedTestsOf(), Origin: string(s.Origin()),
		Archive: archiveState(s),
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		r.State, r.Message = c.Reason, c.Message
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionResultsCollected); c != nil && c.Status == metav1.ConditionFalse &&
		s.Finished() {
		r.ResultsProblem = c.Message
	}
	if at := s.ScheduledFor(); !at.IsZero() {
		r.ScheduledFor = new(at)
	}
	if at := s.Spec.ReceivedAt; at != nil {
		r.ReceivedAt = new(at.UTC())
	}
	if at := s.Status.StartTime; at != nil {
		r.StartedAt = new(at.UTC())
	}
	if at := s.Status.PodsKeptUntil; at != nil {
		r.PodsKeptUntil = new(at.UTC())
	}
	if at := s.Status.CompletionTime; at != nil {
		r.EndedAt = new(at.UTC())
		if r.StartedAt != nil {
			r.DurationSeconds = max(0, r.EndedAt.Sub(*r.StartedAt).Seconds())
		}
	}
	return r
}

func archiveState(s *v1alpha1.Suite) *httpapi.ArchiveState {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionArchived)
	if c == nil {
		return nil
	}
	return &httpapi.ArchiveState{Done: c.Status == metav1.ConditionTrue, Message: c.Message}
}

func results(r *v1alpha1.TestResults) *httpapi.TestResults {
	if r == nil {
		return nil
	}
	all := &httpapi.TestResults{
		Tests: r.Tests, Passed: r.Passed, Failed: r.Failed, Skipped: r.Skipped, Flaky: r.Flaky,
		ComparedWith: r.ComparedWith, NewFailures: r.NewFailures, KnownFailures: r.KnownFailures, Fixed: r.Fixed,
		FlakyTests: r.FlakyTests, Quarantined: r.Quarantined, TestsExpected: r.Expected,
	}
	for _, q := range r.Quarantines {
		all.Quarantines = append(all.Quarantines, httpapi.AppliedQuarantine(q))
	}
	if r.Duration != nil {
		all.DurationSeconds = r.Duration.Seconds()
	}
	for _, f := range r.Failures {
		all.Failures = append(all.Failures, httpapi.TestFailure{
			Name: f.Name, File: f.File, Line: f.Line, Message: f.Message, History: string(f.History),
			Quarantine: f.Quarantine, ExpiredQuarantine: f.ExpiredQuarantine,
		})
	}
	return all
}

func artifacts(a *v1alpha1.Artifacts) *httpapi.Artifacts {
	if a == nil {
		return nil
	}
	return &httpapi.Artifacts{Count: a.Count, Bytes: a.Bytes, Prefix: a.Prefix}
}
