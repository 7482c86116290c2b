package suite_test

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/suite"
)

func TestPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		active []*v1alpha1.Suite
		queued []*v1alpha1.Suite // the last is the one asked about
		limits suite.Limits
		want   int
	}{
		"NoLimit": {
			reason: "Without limits everything starts.",
			active: []*v1alpha1.Suite{aSuite("a", 1)},
			queued: []*v1alpha1.Suite{aSuite("b", 2)},
		},
		"TriggerFull": {
			reason: "The slot of the Trigger is taken.",
			active: []*v1alpha1.Suite{aSuite("a", 1)},
			queued: []*v1alpha1.Suite{aSuite("b", 2)},
			limits: suite.Limits{Trigger: map[string]int32{"smoke": 1}},
			want:   1,
		},
		"FirstComeFirstServed": {
			reason: "One slot is free, and an earlier run waits for it.",
			queued: []*v1alpha1.Suite{aSuite("b", 2), aSuite("c", 3)},
			limits: suite.Limits{Trigger: map[string]int32{"smoke": 1}},
			want:   1,
		},
		"ThirdInLine": {
			reason: "Two wait before it.",
			active: []*v1alpha1.Suite{aSuite("a", 1)},
			queued: []*v1alpha1.Suite{aSuite("b", 2), aSuite("c", 3), aSuite("d", 4)},
			limits: suite.Limits{Trigger: map[string]int32{"smoke": 1}},
			want:   3,
		},
		"LaterOneActive": {
			reason: "A later run that has started keeps its slot.",
			active: []*v1alpha1.Suite{aSuite("z", 9)},
			queued: []*v1alpha1.Suite{aSuite("a", 1)},
			limits: suite.Limits{Trigger: map[string]int32{"smoke": 1}},
			want:   1,
		},
		"OtherTriggerDoesNotBlock": {
			reason: "Runs that wait for their own Trigger leave the team's slots to others.",
			active: []*v1alpha1.Suite{aSuite("a", 1)},
			queued: []*v1alpha1.Suite{aSuite("b", 2), aSuite("c", 3), aSuite("d", 4, of("other"))},
			limits: suite.Limits{Team: 2, Trigger: map[string]int32{"smoke": 1}},
		},
		"TeamFull": {
			reason: "The team's slots are taken, whoever waits for them.",
			active: []*v1alpha1.Suite{aSuite("a", 1), aSuite("b", 2)},
			queued: []*v1alpha1.Suite{aSuite("c", 3), aSuite("d", 4, of("other"))},
			limits: suite.Limits{Team: 2},
			want:   2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			isActive := map[string]bool{}
			for _, s := range tc.active {
				isActive[s.Name] = true
			}
			active := func(s *v1alpha1.Suite) bool { return isActive[s.Name] }
			self := tc.queued[len(tc.queued)-1]
			if got := suite.Place(self, append(tc.active, tc.queued...), active, tc.limits); got != tc.want {
				t.Errorf("%s\nPlace = %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
