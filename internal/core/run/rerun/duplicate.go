// Package rerun says when a commit that has a run gets another one: because a notification is no duplicate, because a person asks, also for
// failed tests alone, or because the run has no result.
package rerun

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/state"
)

// Duplicate is a notification of a commit that has a run, and what is known of that run.
type Duplicate struct {
	Origin      v1alpha1.Origin
	Policy      v1alpha1.DuplicatePolicy
	MaxAge      time.Duration // of a result that still counts; 0: any
	ReceivedAt  time.Time
	Rerun       bool                  // the sender requests another attempt of a run with a result
	Differences []v1alpha1.Difference // between the deployments, as far as they are known
	Stream      []*v1alpha1.Suite     // the known part of the run's stream
	Ledger      *ledger.Ledger        // of its Environment
}

// StartsAttempt reports whether a duplicate starts the desired attempt beside an existing run of the same commit.
// It does if that run will have no result of its own, because its commit must be tested. If it has one, the Trigger or the sender decides,
// but a result after superseding has begun changes no answer.
// A notification that is sent again for lack of an answer has the same Idempotency-Key, and is not newer: its own run is the answer.
func StartsAttempt(existing, desired *v1alpha1.Suite, d Duplicate) bool {
	superseded := existing.State() == v1alpha1.ReasonSuperseded || existing.Status.SupersededBy != "" || existing.Status.RepeatedBy != "" ||
		suite.NewerDeployment(existing, d.Stream) != nil
	gone := existing.Restored() || existing.DeletionTimestamp != nil
	own := d.isOwn(existing, desired)
	switch {
	case collected(existing, desired):
		return true
	case own && d.Origin != v1alpha1.OriginNotification: // it is made again until all Triggers are notified
		return false
	case d.Origin == v1alpha1.OriginSchedule:
		return existing.Finished() || gone
	case own && (hasResult(existing) || superseded):
		return false
	case hasResult(existing) && existing.Status.SupersededBy != "": // just before its end, another request may have started an attempt
		return true
	case hasResult(existing):
		return d.resultOutdated(existing)
	case superseded || gone || existing.Finished() || existing.Spec.Cancel:
		return true
	default:
		return !own && (d.anotherDeployment(existing) || d.Ledger.Other(existing, ledger.Tested(existing)) != nil)
	}
}

// isOwn reports whether the notification is the one that created the existing run, or continued it, and was sent again. A key means one
// only until something else is deployed: an event of a controller that goes back to an earlier version has the same one.
func (d Duplicate) isOwn(existing, desired *v1alpha1.Suite) bool {
	if !NotifiedBy(existing, desired.Annotations[v1alpha1.AnnotationIdempotencyKey]) {
		return false
	}
	if d.Origin != v1alpha1.OriginEvent || desired.Spec.DeployedAt == nil {
		return true
	}
	return sameEnvironment(existing, desired) && d.Ledger.Between(existing, ledger.Last(existing), desired.DeployedAt().Time) == nil
}

// isKnown reports whether the notification is no deployment that has to be noted. An event says when it was, so that one that is delivered
// again is not newer.
func (d Duplicate) isKnown(existing, desired *v1alpha1.Suite) bool {
	return d.isOwn(existing, desired) && (d.Origin != v1alpha1.OriginEvent || desired.Spec.DeployedAt == nil)
}

// collected reports whether the run belongs to a deleted ephemeral Environment, and is about to be deleted.
func collected(existing, desired *v1alpha1.Suite) bool {
	return len(existing.OwnerReferences) > 0 && len(desired.OwnerReferences) > 0 &&
		existing.OwnerReferences[0].UID != desired.OwnerReferences[0].UID
}

func (d Duplicate) resultOutdated(existing *v1alpha1.Suite) bool {
	unsuccessful := d.Policy == v1alpha1.DuplicatesRerunUnsuccessful && !state.Of(existing.State()).Green
	return unsuccessful || d.tooOld(existing) || d.Rerun || d.anotherDeployment(existing)
}

// anotherDeployment reports whether each deployment is tested, and the run's differs or another commit was deployed since. Each rollout is.
func (d Duplicate) anotherDeployment(s *v1alpha1.Suite) bool {
	if d.Origin != v1alpha1.OriginRollout && d.Policy != v1alpha1.DuplicatesDeployment {
		return false
	}
	return len(d.Differences) > 0 || d.Ledger.Other(s, ledger.Tested(s)) != nil
}

func (d Duplicate) tooOld(s *v1alpha1.Suite) bool {
	end := s.Status.CompletionTime
	return d.MaxAge > 0 && (end == nil || d.ReceivedAt.Sub(end.Time) > d.MaxAge)
}

func hasResult(s *v1alpha1.Suite) bool { return state.Of(s.State()).Result && s.Finished() }

// maxFoundBy is the limit of status.foundBy. A commit is hardly deployed 64 times while a sender still sends its requests again, and 64
// entries take 5 KiB without URLs.
const maxFoundBy = 64

// NotifiedBy reports whether the notification with an Idempotency-Key created the run, or found it. Of those that found it, the last 64 are
// known. Earlier versions noted one, without a digest.
func NotifiedBy(s *v1alpha1.Suite, key string) bool {
	created := s.Annotations[v1alpha1.AnnotationIdempotencyKey] == key
	return key != "" && (created || s.Status.NotifiedAgainBy == key || slices.ContainsFunc(s.Status.FoundBy, hasKey(key)))
}

// Place is when and where a notification says that its commit was deployed.
type Place struct {
	At          time.Time // zero: when it was received
	Environment types.UID
}

// Place takes from the run of a notification what that said when it was first sent: sent again, it is no newer deployment, and not to an
// Environment that was created since. It also returns the Environment with which the run is to be compared: an attempt that began here
// because the notification was sent again does not differ from it.
func (d Duplicate) Place(existing *v1alpha1.Suite, key string, p Place, e *v1alpha1.Environment) (is Place, compared types.UID) {
	known := NotifiedBy(existing, key)
	if known && d.Origin == v1alpha1.OriginNotification {
		p.At = notifiedAt(existing, key)
	}
	if known && beforeEnvironment(p.At, e) && existing.Spec.EnvironmentUID != e.UID {
		p.Environment = existing.Spec.EnvironmentUID
	}
	if beforeEnvironment(existing.Received().Time, e) {
		return p, e.UID
	}
	return p, p.Environment
}

// beforeEnvironment reports whether a deployment was before its Environment existed, unless notifications themselves create that.
func beforeEnvironment(at time.Time, e *v1alpha1.Environment) bool {
	return !at.IsZero() && at.Before(e.CreationTimestamp.Time) && e.Spec.Ephemeral == nil
}

// notifiedAt is when the deployment happened that a notification with an Idempotency-Key told of, which created the run or found it.
func notifiedAt(s *v1alpha1.Suite, key string) time.Time {
	if s.Annotations[v1alpha1.AnnotationIdempotencyKey] != key {
		if i := slices.IndexFunc(s.Status.FoundBy, hasKey(key)); i >= 0 {
			return s.Status.FoundBy[i].At.Time
		}
	}
	return s.DeployedAt().Time
}

func hasKey(key string) func(v1alpha1.FoundBy) bool {
	digest := suite.Hash(key)
	return func(f v1alpha1.FoundBy) bool { return f.Key == digest }
}

// Differences compares the deployments of a notification and of an existing run of its commit, except for input files.
func Differences(existing, desired *v1alpha1.Suite) (all []v1alpha1.Difference) {
	if existing.Spec.Deployment.URL != desired.Spec.Deployment.URL {
		all = append(all, v1alpha1.DifferentURL)
	}
	if !maps.Equal(existing.Spec.Variables, desired.Spec.Variables) {
		all = append(all, v1alpha1.DifferentVariables)
	}
	return append(all, placeDifferences(existing, desired)...)
}

// placeDifferences compares what every notification of a deployment says, as far as both are known.
func placeDifferences(existing, desired *v1alpha1.Suite) (all []v1alpha1.Difference) {
	if !commit.MayBeSameRepository(existing.Spec.Deployment.Repository, desired.Spec.Deployment.Repository) {
		all = append(all, v1alpha1.DifferentRepository)
	}
	if !sameEnvironment(existing, desired) {
		all = append(all, v1alpha1.DifferentEnvironment)
	}
	return all
}

func sameEnvironment(existing, desired *v1alpha1.Suite) bool {
	had, has := existing.Spec.EnvironmentUID, desired.Spec.EnvironmentUID
	return had == "" || has == "" || had == has
}

// SaidDifferences is Differences for a notification that may lack the URL, and that never has variables: what it does not say is no
// difference.
func SaidDifferences(existing, desired *v1alpha1.Suite) []v1alpha1.Difference {
	all := placeDifferences(existing, desired)
	if had, has := existing.Spec.Deployment.URL, desired.Spec.Deployment.URL; had != "" && has != "" && had != has {
		all = append(all, v1alpha1.DifferentURL)
	}
	return all
}

// NoteDuplicate changes the status of a run that answers a duplicate, and reports whether it changed.
func NoteDuplicate(existing, desired *v1alpha1.Suite, d Duplicate) bool {
	notified, other := noteNotified(existing, desired, d), noteOther(existing, desired, d.Differences)
	return notified || other
}

// NoteRedeployed records that the commit of a run that has ended was deployed again. It reports whether the status changed. Another commit
// may have been deployed in between without being known yet: its notification may still wait for the API server.
func NoteRedeployed(existing, desired *v1alpha1.Suite, d Duplicate) bool {
	if !existing.Finished() || d.isKnown(existing, desired) {
		return false
	}
	return note(&existing.Status.AnsweredAgainAt, existing, desired)
}

// noteNotified makes a run that has not ended the newest of its stream again.
func noteNotified(existing, desired *v1alpha1.Suite, d Duplicate) bool {
	if existing.Finished() || d.isKnown(existing, desired) {
		return false
	}
	return note(&existing.Status.NotifiedAgainAt, existing, desired)
}

// note records a notification also if a later one is known, because it may be sent again.
func note(last **metav1.MicroTime, existing, desired *v1alpha1.Suite) (changed bool) {
	found := v1alpha1.FoundBy{At: metav1.NewMicroTime(desired.DeployedAt().UTC()), URL: desired.Spec.Deployment.URL}
	key, later := desired.Annotations[v1alpha1.AnnotationIdempotencyKey], found.At.After(ledger.Last(existing))
	if !later && (key == "" || NotifiedBy(existing, key)) {
		return false
	}
	if later {
		*last = &found.At
	}
	if key != "" {
		found.Key = suite.Hash(key)
		existing.Status.NotifiedAgainBy = key // all that a replica of an earlier version looks at
	}
	all := append(slices.Clone(existing.Status.FoundBy), found)
	slices.SortStableFunc(all, func(a, b v1alpha1.FoundBy) int { return a.At.Compare(b.At.Time) })
	existing.Status.FoundBy = all[max(0, len(all)-maxFoundBy):]
	return true
}

// NoteSuperseded records the newer run of the stream, so that a replica that has not seen it creates the same attempt. It reports whether
// the status changed.
func NoteSuperseded(existing *v1alpha1.Suite, stream []*v1alpha1.Suite) bool {
	newer := suite.NewerDeployment(existing, stream)
	if existing.Finished() || existing.Status.SupersededBy != "" || newer == nil {
		return false
	}
	existing.Status.SupersededBy = newer.Name
	return true
}

func noteOther(existing, desired *v1alpha1.Suite, differences []v1alpha1.Difference) bool {
	url, last := desired.Spec.Deployment.URL, existing.Status.AnsweredOther
	if len(differences) == 0 || last != nil && last.URL == url && slices.Equal(last.Differs, differences) {
		return false
	}
	existing.Status.AnsweredOther = &v1alpha1.OtherDeployment{NotifiedAt: metav1.NewTime(desired.Received().Time), URL: url,
		Differs: differences}
	return true
}
