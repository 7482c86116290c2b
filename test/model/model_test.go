package model

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/test/tier"
)

const (
	shortest, longest = 12, 40 // steps of a history, some of which are nothing

	printed = 30 // kinds of violations at most

	most = 500 // histories that are tried to find a shorter one, for some seconds
)

// played are what histories must have, or they prove nothing.
var played = []string{
	"late", "sent again", "rerun", "rerun failed", "re-run check", "refused", "schedule", "error", "restore", "rebuild", "cancel", "pause",
	"raced", "rollout", "hub", "handed on", "answer lost", "cluster away", "overtaken", "created", "duplicate", "green", "excused",
	"passed: Notification", "passed: Event", "passed: Rollout", "passed: Rerun", "passed: Rerun of failed tests", "passed: Retry",
	"passed: Repetition", "passed: Schedule",
}

// TestDeployedWorld plays random histories. Of each kind of violation, one is printed, without what it does not need.
// POSTFLIGHT_TEST_HISTORY=seed plays that one alone.
func TestDeployedWorld(t *testing.T) {
	if set := os.Getenv("POSTFLIGHT_TEST_HISTORY"); set != "" {
		seed, err := strconv.ParseUint(set, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if h := newHistory(seed); len(h.play(t, map[string]int{}).violations) > 0 {
			h.print(t)
		}
		return
	}
	histories := 10_000
	if tier.Gate() {
		histories = 1000
	}
	first := tier.Random(t).Uint64() >> 16
	counts, kinds := map[string]int{}, map[string]bool{}
	for i := range histories {
		h := newHistory(first + uint64(i))
		w := h.play(t, counts)
		if len(w.violations) == 0 {
			continue
		}
		counts["violations"]++
		v := w.violations[0]
		if kind := v.rule + v.kind; !kinds[kind] && len(kinds) < printed {
			kinds[kind] = true
			h.print(t)
		}
	}
	fmt.Printf("MODEL histories=%d first=%d %v\n", histories, first, counts)
	for _, what := range played {
		if counts[what] == 0 {
			t.Errorf("no history has: %s", what)
		}
	}
}

// history is what its seed chooses.
type history struct {
	seed  uint64
	setup setup
	steps []uint64 // their seeds
}

func newHistory(seed uint64) *history {
	random := rand.New(rand.NewPCG(seed, 0))
	h := &history{seed: seed, setup: newSetup(random), steps: make([]uint64, shortest+random.IntN(longest-shortest))}
	for i := range h.steps {
		h.steps[i] = random.Uint64()
	}
	return h
}

// play ends when a rule is broken.
func (h *history) play(t *testing.T, counts map[string]int) *world {
	t.Helper()
	w, err := newWorld(h.seed, h.setup, counts)
	if err != nil {
		t.Fatal(err)
	}
	var direct *world
	if w.hub != nil {
		if direct, err = newWorld(h.seed, h.setup, map[string]int{}); err != nil {
			t.Fatal(err)
		}
		direct.directly = true
	}
	for _, s := range h.steps {
		if err := w.play(s); err != nil {
			t.Fatalf("history %d: %v\n%s", h.seed, err, strings.Join(w.story, "\n"))
		}
		if direct != nil {
			if err := direct.play(s); err != nil {
				t.Fatalf("history %d, directly: %v\n%s", h.seed, err, strings.Join(direct.story, "\n"))
			}
			w.compare(direct)
		}
		if len(w.violations) > 0 {
			break
		}
	}
	return w
}

// minimize drops steps and parts of the setup, as long as the history breaks the same rule.
func (h *history) minimize(t *testing.T) *world {
	t.Helper()
	w := h.play(t, map[string]int{})
	tries := 0
	try := func(other history) bool {
		if tries++; tries > most {
			return false
		}
		got := other.play(t, map[string]int{})
		if len(got.violations) == 0 || got.violations[0].rule != w.violations[0].rule || got.violations[0].kind != w.violations[0].kind {
			return false
		}
		*h, w = other, got
		return true
	}
	for smaller := true; smaller; {
		smaller = false
		for _, steps := range fewer(h.steps) {
			smaller = try(history{h.seed, h.setup, steps})
			if smaller {
				break
			}
		}
		for _, s := range h.setup.simpler() {
			smaller = try(history{h.seed, s, h.steps}) || smaller
		}
	}
	return w
}

// fewer lack half of the steps, one, or two.
func fewer(steps []uint64) (all [][]uint64) {
	n := len(steps)
	all = append(all, steps[:n/2], steps[n/2:])
	for i := n - 1; i >= 0; i-- {
		all = append(all, slices.Delete(slices.Clone(steps), i, i+1))
	}
	for i := n - 1; i >= 0; i-- {
		for j := i - 1; j >= 0; j-- {
			all = append(all, slices.Delete(slices.Delete(slices.Clone(steps), i, i+1), j, j+1))
		}
	}
	return all
}

func (h *history) print(t *testing.T) {
	t.Helper()
	w := h.minimize(t)
	v := w.violations[0]
	t.Errorf("broken: %s\nkind: %s\n%s\nPOSTFLIGHT_TEST_HISTORY=%d repeats this history: %s\n%s",
		v.rule, v.kind, v.detail, h.seed, w.setup, strings.Join(w.story, "\n"))
}
