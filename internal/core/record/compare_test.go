package record_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestCompare: runs of one second are in the order of their keys, in which a slash follows the ID.
func TestCompare(t *testing.T) {
	tier.PinRapid(t)
	now := time.Unix(1e9, 0)
	id := rapid.StringMatching(`[a.\-0/]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := record.Run{ID: id.Draw(t, "a"), Created: now}, record.Run{ID: id.Draw(t, "b"), Created: now}
		if got, want := a.Compare(b), strings.Compare(a.ID+"/", b.ID+"/"); got != want {
			t.Errorf("%q and %q: %d, want %d", a.ID, b.ID, got, want)
		}
	})
	if earlier := (record.Run{ID: "b", Created: now}); earlier.Compare(record.Run{ID: "a", Created: now.Add(time.Second)}) >= 0 {
		t.Error("an earlier run comes after a later one")
	}
}
