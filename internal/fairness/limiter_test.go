package fairness

import "testing"

// TestTeamsShareALimiter: no team can take all slots.
func TestTeamsShareALimiter(t *testing.T) {
	cases := map[string]struct{ size, alone int }{
		"none":   {0, 0},
		"one":    {1, 1},
		"a few":  {1013, 900},
		"more":   {1152, 1024},
		"plenty": {5625, 5000},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := NewTeamLimiter(tc.size)
			alone := fill(l, "first")
			if alone < tc.alone || alone > tc.alone+1 {
				t.Errorf("a team that is alone gets %d of %d, want %d", alone, tc.size, tc.alone)
			}
			second, third := fill(l, "second"), fill(l, "third")
			if tc.size > 100 && (second < tc.size/20 || third < 1) {
				t.Errorf("then a second one gets %d, and a third %d; want room for both", second, third)
			}
			if l.InUse() != alone+second+third {
				t.Errorf("%d are in use, want %d", l.InUse(), alone+second+third)
			}
			for team, n := range map[string]int{"first": alone, "second": second, "third": third} {
				for range n {
					l.Release(team)
				}
			}
			if l.InUse() != 0 || len(l.byTeam) != 0 || fill(l, "second") != alone {
				t.Errorf("%d are left behind, of %v", l.InUse(), l.byTeam)
			}
		})
	}
}

// TestTakeMany: a team that takes many slots at once gets as many as one by one, or none.
func TestTakeMany(t *testing.T) {
	l := NewTeamLimiter(900)
	if l.TryAcquireN("first", 801) || !l.TryAcquireN("first", 800) || l.TryAcquire("first") {
		t.Errorf("a team that is alone has %d", l.InUse())
	}
	if l.TryAcquireN("second", 90) || !l.TryAcquireN("second", 89) || l.TryAcquireN("third", 11) {
		t.Errorf("two have %d", l.InUse())
	}
	l.ReleaseN("first", 800)
	l.ReleaseN("second", 89)
	if l.InUse() != 0 || len(l.byTeam) != 0 {
		t.Errorf("%d are left behind, of %v", l.InUse(), l.byTeam)
	}
}

func fill(l *TeamLimiter, team string) (n int) {
	for l.TryAcquire(team) {
		n++
	}
	return n
}
