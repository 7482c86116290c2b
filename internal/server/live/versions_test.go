package live

import (
	"fmt"
	"testing"
	"time"
)

// TestVersionsAreShared: readers of one page share what is rendered after a change, and no reader gets an older version.
func TestVersionsAreShared(t *testing.T) {
	v, rendered := NewVersions(), 0
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	get := func(key string, change uint64, at time.Duration) uint64 {
		t.Helper()
		got, err := v.Of(key, change, now.Add(at), func() (Version, error) {
			rendered++
			return Version{Sum: uint64(rendered)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got.Sum
	}
	steps := []struct {
		reason string
		key    string
		change uint64
		at     time.Duration
		want   uint64
	}{
		{"It is the first.", "a", 1, 0, 1},
		{"Nothing has changed.", "a", 1, time.Second, 1},
		{"Another page is another.", "b", 1, time.Second, 2},
		{"A run has changed.", "a", 2, time.Second, 3},
		{"Something else may have changed.", "a", 2, 4 * time.Second, 4},
	}
	for _, s := range steps {
		if got := get(s.key, s.change, s.at); got != s.want {
			t.Errorf("%s got version %d, want %d", s.reason, got, s.want)
		}
	}
	for i := range 10 * maxVersions {
		get(fmt.Sprint(i), 1, 0)
	}
	if len(v.byKey) > maxVersions {
		t.Errorf("%d versions are kept", len(v.byKey))
	}
}
