package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/origin"
)

// happened is a deployment that a Suite stands for: it created the Suite, or found it.
type happened struct {
	at    time.Time
	url   string // as notified; empty: the URL of the Environment
	where bool   // whether the URL is known
}

// deployments are in the order of their times. What was started again, and was found by no deployment, has none.
func deployments(s *v1alpha1.Suite) (all []happened) {
	created, own := s.DeployedAt().Time, s.Spec.Deployment.URL
	if origin.Of(s.Origin()).Deployment {
		all = append(all, happened{created, own, true})
	}
	for _, f := range s.Status.FoundBy {
		if f.At.After(created) {
			all = append(all, happened{f.At.Time, f.URL, true})
		}
	}
	for _, at := range found(s) { // all that earlier versions noted
		known := func(h happened) bool { return at != nil && h.at.Equal(at.Time) }
		if at != nil && at.After(created) && !slices.ContainsFunc(all, known) {
			other := s.Status.AnsweredOther
			all = append(all, happened{at.Time, own, other == nil || len(other.Differs) == 0})
		}
	}
	slices.SortStableFunc(all, func(a, b happened) int { return a.at.Compare(b.at) })
	return all
}

// Times returns when the deployments happened that a Suite stands for, in their order.
func Times(s *v1alpha1.Suite) (all []time.Time) {
	for _, h := range deployments(s) {
		all = append(all, h.at)
	}
	return all
}

func found(s *v1alpha1.Suite) [2]*metav1.MicroTime {
	return [...]*metav1.MicroTime{s.Status.NotifiedAgainAt, s.Status.AnsweredAgainAt}
}

// IsDeployment reports whether a Suite stands for a deployment.
func IsDeployment(s *v1alpha1.Suite) bool { return len(Times(s)) > 0 }

// Last is when what a Suite tests was deployed last, as far as the Suite shows.
func Last(s *v1alpha1.Suite) time.Time {
	last := s.DeployedAt().Time
	for _, at := range found(s) {
		if at != nil && at.After(last) {
			last = at.Time
		}
	}
	return last
}

// Tested is when what a run tested was deployed last, before it ended: not when its result was the answer.
func Tested(s *v1alpha1.Suite) time.Time {
	if at := s.Status.NotifiedAgainAt; at != nil && at.After(s.DeployedAt().Time) {
		return at.Time
	}
	return s.DeployedAt().Time
}

// Compare orders Suites by their last deployments, alike in all replicas. Among runs of one deployment, the last request is the
// newest. Restored Suites come first, because they never run.
func Compare(a, b *v1alpha1.Suite) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), Last(a).Compare(Last(b)), compareRequested(a, b), strings.Compare(a.Name, b.Name))
}

// Answers reports whether the tests of a run are later than those of s, and of what replaced its commit at the same place or is its commit,
// as far as both say it. What counts for a gate must not be a guess.
func Answers(other, s *v1alpha1.Suite) bool {
	a, b := other.Spec.Deployment, s.Spec.Deployment
	later := cmp.Or(Tested(other).Compare(Tested(s)), compareRequested(other, s), strings.Compare(other.Name, s.Name)) > 0
	if start := other.Status.StartTime; start != nil && endOfSecond(start.Time).Before(Tested(s)) {
		return false // a deployment that found it had not replaced s when its tests began
	}
	return later && !other.Restored() && a.Service == b.Service && commit.MayBeSameRepository(a.Repository, b.Repository) &&
		placeOf(a.URL) == placeOf(b.URL)
}

func rank(s *v1alpha1.Suite) int {
	if s.Restored() {
		return 0
	}
	return 1
}

// CompareRequests orders runs of one commit by when they were asked for.
func CompareRequests(a, b *v1alpha1.Suite) int {
	return cmp.Or(a.Received().Compare(b.Received().Time), compareRequested(a, b), cmp.Compare(a.Spec.Attempt, b.Spec.Attempt),
		strings.Compare(a.Name, b.Name))
}

// compareRequested tells those apart whose times are equal because they were clamped.
func compareRequested(a, b *v1alpha1.Suite) int {
	_, x := a.ReceivedTimes()
	_, y := b.ReceivedTimes()
	return x.Compare(y.Time)
}

// Replaces reports whether a Suite stands for a later deployment of another commit than that of s, of what may be the same service. Of two
// places, ask a Ledger.
func Replaces(other, s *v1alpha1.Suite) bool {
	return IsDeployment(other) && Compare(other, s) > 0 && isAnother(other.Spec.Deployment, s.Spec.Deployment)
}

// isAnother reports whether another commit was deployed of what may be the same.
func isAnother(a, b v1alpha1.Deployment) bool {
	x, y := commit.Of(a), commit.Of(b)
	return x.MayBeSamePart(y.Part) && !x.Covers(y)
}

// AnnouncedAfter returns the newest Suite that stands for a deployment of another commit than that of d, with the same type, of what may be
// the same service and at what may be the same URL, which happened after a time. Notifications may come up to a delay after their
// deployment, events say when it was.
func AnnouncedAfter(d v1alpha1.Deployment, at time.Time, delay time.Duration, suites []*v1alpha1.Suite) (newest *v1alpha1.Suite) {
	for _, s := range suites {
		other, late := s.Spec.Deployment, delay
		if s.Origin() == v1alpha1.OriginEvent && Last(s).Equal(s.DeployedAt().Time) {
			late = 0
		}
		same := other.Type == d.Type && other.HostingService == d.HostingService && (other.URL == "" || placeOf(other.URL) == placeOf(d.URL)) &&
			isAnother(other, d)
		if same && IsDeployment(s) && Last(s).Add(-late).After(at) && (newest == nil || Compare(s, newest) > 0) {
			newest = s
		}
	}
	return newest
}

// siblings reports whether Suites answer one notification.
func siblings(a, b *v1alpha1.Suite) bool {
	request := a.Annotations[v1alpha1.AnnotationRequestID]
	return request != "" && request == b.Annotations[v1alpha1.AnnotationRequestID]
}
