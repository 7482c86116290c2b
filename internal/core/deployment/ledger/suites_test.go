package ledger

import (
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestTimes: what was started again is no deployment, until one finds it.
func TestTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		s    *v1alpha1.Suite
		want []int // minutes
		last int
	}{
		"a notification":           {notified("a", "a", 5), []int{5}, 5},
		"found while it ran":       {notified("a", "a", 5, notifiedAgain(7)), []int{5, 7}, 7},
		"its result was found":     {notified("a", "a", 5, notifiedAgain(7), answeredAgain(9)), []int{5, 7, 9}, 9},
		"a late event":             {notified("a", "a", 5, from(v1alpha1.OriginEvent), deployedAt(1)), []int{1}, 1},
		"an event of a fast clock": {notified("a", "a", 5, from(v1alpha1.OriginEvent), deployedAt(9)), []int{5}, 5},
		"a rollout":                {notified("a", "a", 5, from(v1alpha1.OriginRollout)), []int{5}, 5},
		"a rerun":                  {notified("a", "a", 5, from(v1alpha1.OriginRerun), deployedAt(1)), nil, 1},
		"a rerun that was found":   {notified("a", "a", 5, from(v1alpha1.OriginRerun), deployedAt(1), notifiedAgain(7)), []int{7}, 7},
		"a retry":                  {notified("a", "a", 5, from(v1alpha1.OriginRetry), deployedAt(1)), nil, 1},
		"a schedule":               {notified("a", "a", 5, from(v1alpha1.OriginSchedule), deployedAt(1)), nil, 1},
		"restored":                 {notified("a", "a", 5, restoredAfter(3*day)), []int{5}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			got := Times(tc.s)
			if len(got) != len(tc.want) || IsDeployment(tc.s) != (len(tc.want) > 0) {
				t.Fatalf("got %v", got)
			}
			for i := range got {
				if !got[i].Equal(minutes(tc.want[i])) {
					t.Errorf("got %v", got)
				}
			}
			if got := Last(tc.s); !got.Equal(minutes(tc.last)) {
				t.Errorf("last %s", got)
			}
		})
	}
}

// TestCompare: runs are ordered by the deployments that they test, and not by when they were created.
func TestCompare(t *testing.T) {
	older := []*v1alpha1.Suite{
		notified("restored", "r", 60, restoredAfter(3*day)),
		notified("a1", "a", 0),
		notified("a2", "a", 9, from(v1alpha1.OriginRerun), deployedAt(0)),
		notified("b1", "b", 5),
		notified("c1", "c", -9, answeredAgain(6)),
	}
	for i, a := range older {
		for j, b := range older {
			if got := Compare(a, b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s and %s: %d", a.Name, b.Name, got)
			}
		}
	}
}

// TestAnnouncedAfter asks for an event about a deployment at minute 10, with a delay of a minute.
func TestAnnouncedAfter(t *testing.T) {
	of := v1alpha1.Deployment{Repository: shop, SHA: "a", Type: "staging"}
	for name, tc := range map[string]struct {
		s    *v1alpha1.Suite
		want bool
	}{
		"before":                        {notified("b1", "b", 9), false},
		"within the delay":              {notified("b1", "b", 11), false},
		"after it":                      {notified("b1", "b", 12), true},
		"after it, without repository":  {notified("b1", "b", 12, repository("")), true},
		"after it, in another spelling": {notified("b1", "b", 12, repository("ACME/shop")), true},
		"of another repository":         {notified("b1", "b", 12, repository("acme/pay")), false},
		"an event, which is exact":      {notified("b1", "b", 30, from(v1alpha1.OriginEvent), deployedAt(11)), true},
		"an event of before":            {notified("b1", "b", 30, from(v1alpha1.OriginEvent), deployedAt(9)), false},
		"the same commit":               {notified("b1", "a", 12), false},
		"a rerun":                       {notified("b1", "b", 12, from(v1alpha1.OriginRerun)), false},
		"a rollback":                    {notified("b1", "b", 0, answeredAgain(12)), true},
		"another type":                  {notified("b1", "b", 12, func(s *v1alpha1.Suite) { s.Spec.Deployment.Type = "production" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AnnouncedAfter(of, minutes(10), time.Minute, []*v1alpha1.Suite{tc.s}); (got != nil) != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
