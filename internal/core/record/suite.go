package record

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// SuiteOf is the inverse of RunOf, for lists that show runs whose Suite was deleted. They do not show what was under test.
func SuiteOf(r httpapi.Run) *v1alpha1.Suite {
	s := &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.ID, CreationTimestamp: metav1.NewTime(r.CreatedAt)},
		Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: r.Trigger}, Environment: r.Environment, Attempt: r.Attempt,
			Deployment: v1alpha1.Deployment{
				Branch: r.Branch, SHA: r.SHA, Type: r.DeploymentType, URL: r.DeploymentURL, CommitURL: r.CommitURL,
				CommitMessage: r.CommitMessage, CommitAuthor: r.CommitAuthor, Repository: r.Repository, Service: r.Service,
				PullRequestNumber: r.PullRequestNumber,
			},
		},
		Status: v1alpha1.SuiteStatus{
			StartTime: timeOf(r.StartedAt), CompletionTime: timeOf(r.EndedAt), SupersededBy: r.SupersededBy, PodsKeptUntil: timeOf(
				r.PodsKeptUntil), Results: testResults(r.Results),
			DecidedBy:  decidedByTests(r),
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: succeeded(r.State), Reason: r.State, Message: r.Message}},
		},
	}
	if r.ReceivedAt != nil {
		s.Spec.ReceivedAt = new(metav1.NewMicroTime(*r.ReceivedAt))
	}
	if s.Spec.Origin = v1alpha1.Origin(r.Origin); r.Origin == "" && r.ReceivedAt != nil && r.Repeats == "" && r.ScheduledFor == nil {
		s.Spec.Origin = v1alpha1.OriginNotification // records of earlier versions lack it
	}
	if r.ScheduledFor != nil {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationScheduledFor, r.ScheduledFor.UTC().Format(time.RFC3339))
	}
	if s.Status.RepeatedBy = r.RepeatedBy; r.Repeats != "" {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationRepeats, r.Repeats)
	}
	if r.Retries > 0 {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationRetries, strconv.Itoa(int(r.Retries)))
	}
	if r.OnlyFailedOf != "" {
		s.Spec.OnlyFailedOf = &v1alpha1.RunReference{Name: r.OnlyFailedOf}
	}
	if a := r.Artifacts; a != nil {
		s.Status.Artifacts = &v1alpha1.Artifacts{Count: a.Count, Bytes: a.Bytes, Prefix: a.Prefix}
	}
	if a := r.Archive; a != nil {
		s.Status.Conditions = append(s.Status.Conditions, archived(*a))
	}
	return s
}

func decidedByTests(r httpapi.Run) v1alpha1.DecidedBy {
	if state.Of(r.State).TestsDecided {
		return v1alpha1.DecidedBy(r.DecidedBy)
	}
	return ""
}

func succeeded(reason string) metav1.ConditionStatus {
	switch {
	case state.Of(reason).Green:
		return metav1.ConditionTrue
	case state.Of(reason).Open():
		return metav1.ConditionUnknown
	default:
		return metav1.ConditionFalse
	}
}

func archived(a httpapi.ArchiveState) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionArchived, Status: metav1.ConditionFalse, Message: a.Message}
	if a.Done {
		c.Status = metav1.ConditionTrue
	}
	return c
}

func timeOf(t *time.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	return new(metav1.NewTime(*t))
}

func testResults(r *httpapi.TestResults) *v1alpha1.TestResults {
	if r == nil {
		return nil
	}
	all := &v1alpha1.TestResults{
		Tests: r.Tests, Passed: r.Passed, Failed: r.Failed, Skipped: r.Skipped, Flaky: r.Flaky,
		ComparedWith: r.ComparedWith, NewFailures: r.NewFailures, KnownFailures: r.KnownFailures, Fixed: r.Fixed,
		FlakyTests: r.FlakyTests, Quarantined: r.Quarantined, Expected: r.TestsExpected,
	}
	for _, q := range r.Quarantines {
		all.Quarantines = append(all.Quarantines, v1alpha1.AppliedQuarantine(q))
	}
	if r.DurationSeconds > 0 {
		all.Duration = &metav1.Duration{Duration: time.Duration(r.DurationSeconds * float64(time.Second))}
	}
	for _, f := range r.Failures {
		all.Failures = append(all.Failures, v1alpha1.TestFailure{
			Name: f.Name, File: f.File, Line: f.Line, Message: f.Message, History: v1alpha1.FailureHistory(f.History),
			Quarantine: f.Quarantine, ExpiredQuarantine: f.ExpiredQuarantine,
		})
	}
	return all
}
