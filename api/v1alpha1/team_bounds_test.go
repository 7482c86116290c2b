package v1alpha1_test

import (
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestBoundsOfATeam: an old Team, stored without bounds, has those of the schema.
func TestBoundsOfATeam(t *testing.T) {
	for name, tc := range map[string]struct {
		spec               v1alpha1.TeamSpec
		stored, unfinished int32
	}{
		"stored without bounds": {stored: 10000, unfinished: 1000},
		"no limit":              {spec: v1alpha1.TeamSpec{MaxSuites: new(int32(0)), MaxUnfinishedSuites: new(int32(0))}},
		"its own":               {spec: v1alpha1.TeamSpec{MaxSuites: new(int32(7)), MaxUnfinishedSuites: new(int32(3))}, stored: 7, unfinished: 3},
	} {
		t.Run(name, func(t *testing.T) {
			team := &v1alpha1.Team{Spec: tc.spec}
			if got := team.SuiteBound(); got != tc.stored {
				t.Errorf("SuiteBound = %d, want %d", got, tc.stored)
			}
			if got := team.UnfinishedSuiteBound(); got != tc.unfinished {
				t.Errorf("UnfinishedSuiteBound = %d, want %d", got, tc.unfinished)
			}
		})
	}
}
