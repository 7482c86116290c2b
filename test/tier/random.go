package tier

import (
	"flag"
	"math/rand/v2"
	"testing"
)

// pinned is the seed of the gate, in which the same values are tried each time. `make test-all` draws others.
const pinned = 20261123

// Random is a source of random values, whose seed a failed test prints.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if Gate() {
		seed = pinned
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the seed was %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, seed))
}

// PinRapid gives rapid, which prints the seed of a failure itself, that of the gate.
func PinRapid(t testing.TB) {
	t.Helper()
	seed := flag.Lookup("rapid.seed")
	if seed == nil {
		t.Fatal("this test binary does not use rapid")
	}
	if Gate() && seed.Value.String() == "0" { // unless it was given
		if err := seed.Value.Set("20261123"); err != nil {
			t.Fatal(err)
		}
	}
}
