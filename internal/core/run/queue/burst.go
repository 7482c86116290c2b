package queue

import (
	"fmt"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
)

// Burst is a row of deployments of an Environment, up to the last one, of which each came within spec.settle.quiet of the one before. It is
// zero if there is none, or if the Environment needs no time to settle.
type Burst struct{ First, Last time.Time }

// BurstOf finds the burst among all Suites of an Environment, in any order.
func BurstOf(e *v1alpha1.Environment, suites []*v1alpha1.Suite) Burst {
	if e.Spec.Settle == nil {
		return Burst{}
	}
	times := ledger.Rollouts(e)
	for _, s := range suites {
		times = append(times, ledger.Times(s)...)
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	var b Burst
	for _, t := range times {
		if !b.precededBy(t, e.Spec.Settle.Quiet.Duration) {
			break
		}
	}
	return b
}

// precededBy adds an earlier deployment, or reports that it is of no burst, or of an earlier one.
func (b *Burst) precededBy(t time.Time, quiet time.Duration) bool {
	switch {
	case b.Last.IsZero():
		b.First, b.Last = t, t
	case b.First.Sub(t) >= quiet:
		return false
	default:
		b.First = t
	}
	return true
}

// Settled returns when runs start unless another deployment follows, and when they do at the latest; zero times: at once. The latest
// counts from the first deployment of the burst: if it counted from each run, one would supersede the other, and none would ever start.
func (b Burst) Settled(e *v1alpha1.Environment) (at, latest time.Time) {
	if e.Spec.Settle == nil || b.Last.IsZero() {
		return time.Time{}, time.Time{}
	}
	at, latest = b.Last.Add(e.Spec.Settle.Quiet.Duration), b.First.Add(e.Spec.Settle.Limit())
	if latest.Before(at) {
		at = latest
	}
	return at, latest
}

// Describe says until when runs wait for an Environment to settle, as a clause.
func (b Burst) Describe(e *v1alpha1.Environment, now time.Time) string {
	at, latest := b.Settled(e)
	return SettlingClause(httpapi.EnvironmentSettling{LastDeployment: b.Last, Until: at, Latest: latest}, now)
}

// SettlingOf returns until when runs wait for an Environment to settle, as the HTTP API shows it; nil: they need not wait.
func SettlingOf(e *v1alpha1.Environment, b Burst, now time.Time) *httpapi.EnvironmentSettling {
	at, latest := b.Settled(e)
	if !at.After(now) {
		return nil
	}
	return &httpapi.EnvironmentSettling{LastDeployment: b.Last.UTC(), Until: at.UTC(), Latest: latest.UTC()}
}

// SettlingClause says it for people.
func SettlingClause(s httpapi.EnvironmentSettling, now time.Time) string {
	text := fmt.Sprintf("the last deployment was at %s; runs start at %s", second(s.LastDeployment, now), second(s.Until, now))
	if s.Until.Before(s.Latest) {
		return text + fmt.Sprintf(" unless another follows, at %s at the latest", second(s.Latest, now))
	}
	return text + ", also if another follows"
}

func second(t, now time.Time) string { return moment(t, now, "15:04:05 UTC") }
