package tier

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// pinned is the seed of the tests that a change waits for, which try the same values each time. The nightly ones draw others.
const pinned = 20261123

// seedVariable holds the seed that a failed test printed, to repeat it.
const seedVariable = "POSTFLIGHT_TEST_SEED"

// Random is a source of random values, whose seed a failed test prints.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := seed(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s=%d repeats the random values", seedVariable, seed)
		}
	})
	return rand.New(rand.NewPCG(seed, seed))
}

func seed(t testing.TB) uint64 {
	t.Helper()
	set := os.Getenv(seedVariable)
	switch {
	case set == "" && Change():
		return pinned
	case set == "":
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(set, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", seedVariable, err)
	}
	return seed
}

// PinRapid gives rapid, which prints the seed of a failure itself, that of the tests that a change waits for.
func PinRapid(t testing.TB) {
	t.Helper()
	seed := flag.Lookup("rapid.seed")
	if seed == nil {
		t.Fatal("this test binary does not use rapid")
	}
	if Change() && seed.Value.String() == "0" { // unless it was given
		if err := seed.Value.Set(strconv.Itoa(pinned)); err != nil {
			t.Fatal(err)
		}
	}
}
