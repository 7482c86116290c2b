package fairness

import (
	"slices"
	"testing"
)

func TestLabels(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		most        int
		teams, want []string
	}{
		"few": {"There is room for all.", 2, []string{"a", "b", "a"}, []string{"a", "b", "a"}},
		"many": {"The first ones keep their names.", 2, []string{"a", "b", "c", "a", "d", "b"},
			[]string{"a", "b", otherTeams, "a", otherTeams, "b"}},
		"unknown": {"What belongs to no team takes no place.", 1, []string{"", "a", "", "b"}, []string{otherTeams, "a", otherTeams, otherTeams}},
		"none":    {"All teams share one label.", 0, []string{"a", "b"}, []string{otherTeams, otherTeams}},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewLabels(tc.most)
			var got []string
			for _, team := range tc.teams {
				got = append(got, b.Of(team))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s Got %v, want %v.", tc.reason, got, tc.want)
			}
		})
	}
}
