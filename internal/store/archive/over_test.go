package archive

import (
	"testing"
	"time"
)

func TestOver(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC) }
	days := []time.Time{day(1), day(2), day(3)}
	for before, want := range map[time.Time]int{
		day(1): 0, day(2).Add(-time.Second): 0, day(2): 1, day(2).Add(23 * time.Hour): 1, day(3): 2, day(4): 3, day(9): 3,
		day(2).In(time.FixedZone("", 3600)): 1,
	} {
		if got := over(days, before); len(got) != want {
			t.Errorf("before %s: %v, want %d days", before, got, want)
		}
	}
}
