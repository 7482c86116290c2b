package suite

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// Request is a Trigger that matches a Notification, and what came with it.
type Request struct {
	Trigger      *v1alpha1.Trigger
	Environment  string // name of the Environment that is tested, the Trigger's or an ephemeral one
	Notification *notification.Notification

	EnvironmentUID types.UID // empty: it is not known
	Ephemeral      bool      // the Suite is deleted with the Environment
	Siblings       []string  // see SiblingNames

	Origin         v1alpha1.Origin
	IdempotencyKey string // names the notification, and replaces an absent SHA; may be empty
	RequestID      string // identifies the run where there is neither
	ReceivedAt     time.Time
	Attempt        int32 // from 1

	Traceparent string // of the span that creates the Suite; empty: there is no trace

	DeployedAt   time.Time // if that was before ReceivedAt; zero: it was then
	ScheduledFor time.Time // of the Trigger's schedule; zero: it did not ask
}

// New returns the Suite that answers a Request. Without a SHA, the idempotency key or the request identifies the run.
func New(r Request) *v1alpha1.Suite {
	id := r.identity()
	received := metav1.NewMicroTime(r.ReceivedAt.UTC().Truncate(time.Microsecond))
	s := &v1alpha1.Suite{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Suite"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      id.name(r.Trigger.Name),
			Namespace: r.Trigger.Namespace,
			Labels:    labelsOf(r.Trigger.Name, r.Environment, r.Notification.SHA),
			Annotations: map[string]string{v1alpha1.AnnotationRequestID: r.RequestID,
				v1alpha1.AnnotationVariablesDigest: VariablesDigest(r.Notification.Variables)},
		},
		Spec: v1alpha1.SuiteSpec{
			Trigger:      v1alpha1.TriggerReference{Name: r.Trigger.Name, UID: r.Trigger.UID},
			Environment:  r.Environment,
			Origin:       r.Origin,
			Deployment:   deployment(r.Notification),
			Variables:    r.Notification.Variables,
			Siblings:     r.Siblings,
			SupersedeKey: r.supersedeKey(),
			Supersede:    r.Trigger.Spec.Supersede,
			Attempt:      id.attempt,
			ReceivedAt:   &received,

			EnvironmentUID: r.EnvironmentUID,

			TTLAfterFinished: &metav1.Duration{Duration: r.Trigger.SuiteTTL()},
		},
	}
	if r.Ephemeral {
		owner := metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Environment", Name: r.Environment,
			UID: r.EnvironmentUID}
		s.OwnerReferences = []metav1.OwnerReference{owner}
	}
	if r.IdempotencyKey != "" {
		s.Annotations[v1alpha1.AnnotationIdempotencyKey] = r.IdempotencyKey
	}
	if !r.ScheduledFor.IsZero() {
		s.Annotations[v1alpha1.AnnotationScheduledFor] = r.ScheduledFor.UTC().Format(time.RFC3339)
	}
	if !r.DeployedAt.IsZero() {
		s.Spec.DeployedAt = MicroTime(r.DeployedAt)
	}
	if r.Traceparent != "" {
		s.Annotations[v1alpha1.AnnotationTraceparent] = r.Traceparent
	}
	return s
}

// maxSiblings is the bound of spec.siblings: 3 KiB of the longest names.
const maxSiblings = 50

// SiblingNames are the other Triggers of the same Environment that matched the same notification, sorted: what spec.siblings has.
func SiblingNames(t *v1alpha1.Trigger, matched []*v1alpha1.Trigger) (names []string) {
	for _, other := range matched {
		if other.Name != t.Name && other.Spec.Environment == t.Spec.Environment {
			names = append(names, other.Name)
		}
	}
	slices.Sort(names)
	return BoundSiblings(names)
}

// BoundSiblings leaves as many names as spec.siblings may have.
func BoundSiblings(names []string) []string { return slices.Clip(names[:min(len(names), maxSiblings)]) }

// SameRun reports whether an existing Suite with the desired one's name is the same run.
func SameRun(existing, desired *v1alpha1.Suite) bool {
	return existing.Spec.Attempt == desired.Spec.Attempt && SameAttempts(existing, desired)
}

// SameAttempts reports whether two runs are attempts of the same Trigger, Environment and commit.
func SameAttempts(a, b *v1alpha1.Suite) bool {
	return a.Spec.Trigger.UID == b.Spec.Trigger.UID && a.Spec.Environment == b.Spec.Environment &&
		(commit.Of(a.Spec.Deployment).Same(commit.Of(b.Spec.Deployment)) || sameKey(a, b))
}

// OtherRevision reports whether a Suite with the desired one's name tests the same text of another repository: earlier versions did not
// include the repository in names.
func OtherRevision(existing, desired *v1alpha1.Suite) bool {
	a, b := commit.Of(existing.Spec.Deployment), commit.Of(desired.Spec.Deployment)
	return a.Revision != "" && a.Revision == b.Revision && !a.Same(b)
}

// sameKey is for runs without a revision.
func sameKey(a, b *v1alpha1.Suite) bool {
	return a.Spec.Deployment.SHA == "" && b.Spec.Deployment.SHA == "" && a.Spec.Deployment.Service == b.Spec.Deployment.Service &&
		a.Annotations[v1alpha1.AnnotationIdempotencyKey] == b.Annotations[v1alpha1.AnnotationIdempotencyKey]
}

func (r Request) identity() identity {
	n := r.Notification
	id := identityOf(commit.New(n.Repository, n.Service, n.SHA), r.RequestID)
	if n.SHA == "" && r.IdempotencyKey != "" {
		id.kind, id.value = "idempotency-key", r.IdempotencyKey
	}
	id.trigger, id.environment, id.attempt = r.Trigger.UID, r.Environment, max(r.Attempt, 1)
	return id
}

func (r Request) supersedeKey() string {
	switch r.Trigger.Spec.Supersede {
	case v1alpha1.SupersedeEnvironment, v1alpha1.SupersedeNone:
		return r.Notification.DeduplicationKey
	default:
		return cmp.Or(r.Notification.DeduplicationKey, branchKey(r.Notification.Branch, r.Environment))
	}
}

// DeduplicationKey is the key that the notification of a run named, or "".
func DeduplicationKey(s *v1alpha1.Suite) string {
	if s.Spec.SupersedeKey == branchKey(s.Spec.Deployment.Branch, s.Spec.Environment) {
		return ""
	}
	return s.Spec.SupersedeKey
}

func deployment(n *notification.Notification) v1alpha1.Deployment {
	return v1alpha1.Deployment{
		Branch: n.Branch, SHA: n.SHA, Type: n.DeploymentType, URL: n.DeploymentURL, HostingService: n.HostingService,
		CommitURL: n.CommitURL, CommitMessage: n.CommitMessage, CommitAuthor: n.CommitAuthor,
		Repository: n.Repository, Service: n.Service, PullRequestNumber: n.PullRequestNumber, PipelineID: n.PipelineID,
	}
}

// MicroTime is a time as the API server keeps it.
func MicroTime(t time.Time) *metav1.MicroTime {
	return new(metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond)))
}

// Rerun returns the attempt that another notification would create, so that the two are one run; without a SHA, the request identifies it.
// The API server sets when it was received: the clock of a person's machine must not decide what supersedes what.
func Rerun(s *v1alpha1.Suite, trigger types.UID, attempt int32, request string) *v1alpha1.Suite {
	id := identityOf(commit.Of(s.Spec.Deployment), request)
	id.trigger, id.environment, id.attempt = trigger, s.Spec.Environment, attempt
	next := &v1alpha1.Suite{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Suite"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      id.name(s.Spec.Trigger.Name),
			Namespace: s.Namespace,
			Labels:    labelsOfRun(s),
			Annotations: map[string]string{v1alpha1.AnnotationRequestID: request,
				v1alpha1.AnnotationVariablesDigest: VariablesDigest(s.Spec.Variables)},

			OwnerReferences: slices.Clone(s.OwnerReferences),
		},
		Spec: *s.Spec.DeepCopy(),
	}
	next.Spec.Trigger.UID = trigger
	next.Spec.Attempt = attempt
	next.Spec.ReceivedAt, next.Spec.DeployedAt = nil, nil
	next.Spec.Cancel = false
	next.Spec.OnlyFailedOf = nil
	return next
}
