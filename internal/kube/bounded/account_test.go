package bounded

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/test/tier"
)

// TestWanted: whatever comes, changes and goes, those objects are wanted that fit with all older ones, and are not too large by themselves.
func TestWanted(t *testing.T) {
	tier.PinRapid(t)
	rapid.Check(t, func(t *rapid.T) {
		a := newAccount("acme", 2<<20)
		sizes := rapid.Int64Range(1, objectBytes+100<<10)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n := rapid.IntRange(0, 19).Draw(t, "number")
			name := types.NamespacedName{Namespace: "acme", Name: fmt.Sprint(n)}
			if old := a.entries[name]; old != nil && rapid.Bool().Draw(t, "ends") {
				a.remove(old)
			} else {
				a.put(&entry{NamespacedName: name, created: time.Unix(int64(n/2), 0), bytes: sizes.Draw(t, "bytes")})
			}
			for _, e := range a.entries {
				if got, want := a.wants(e), fits(a, e); got != want {
					t.Fatalf("%s of %d bytes is wanted: %t, want %t", e.Name, e.bytes, got, want)
				}
			}
		}
	})
}

// fits is what wants says, found by comparing an object with all others.
func fits(a *account, e *entry) bool {
	sum := e.bytes
	for _, o := range a.entries {
		if before(o, e) < 0 && o.bytes <= objectBytes {
			sum += o.bytes
		}
	}
	return e.bytes <= objectBytes && sum <= a.bound
}

// TestEntriesAreSmall: of an object that is not cached, only what identifies it is kept, and the name of its namespace once.
func TestEntriesAreSmall(t *testing.T) {
	s := sourceOf(&stored{})
	s.roster.teams = &teams{owned: map[string]bool{"acme": true}, known: make(chan struct{})}
	for i := range 2 {
		trigger := aTrigger(i, 1<<20)
		trigger.Namespace = strings.Clone(trigger.Namespace)
		trigger.Status.Conditions = refusedAs(strings.Repeat("x", 300))
		s.roster.admit(s, trigger)
	}
	all := s.book.accounts["acme"].large
	for _, e := range all {
		if bytes := int(unsafe.Sizeof(*e)) + len(e.Name) + len(e.uid) + len(e.version); bytes > 250 {
			t.Errorf("an entry takes %d bytes", bytes)
		}
	}
	if len(all) != 2 || unsafe.StringData(all[0].Namespace) != unsafe.StringData(all[1].Namespace) {
		t.Errorf("%d entries have a namespace each", len(all))
	}
}

// TestToldOnce: a status that says why an object is not cached is not written again, unless it says something else.
func TestToldOnce(t *testing.T) {
	s := sourceOf(&stored{})
	trigger := aTrigger(0, 1<<20)
	s.roster.admit(s, trigger)
	refused := s.roster.refused(nil)
	if len(refused) != 1 {
		t.Fatalf("%d are refused, want 1", len(refused))
	}
	for message, want := range map[string]int{refused[0].message: 0, "It took 600 KiB.": 1} {
		trigger.Status.Conditions = refusedAs(message)
		s.roster.admit(s, trigger)
		if got := len(s.roster.refused(nil)); got != want {
			t.Errorf("after %q, %d are to be told, want %d", message, got, want)
		}
	}
}
