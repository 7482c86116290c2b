package split_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/tests/split"
)

const (
	files, shards = 200, 4
	changed       = 10   // files that were added since the last run, and as many that were removed
	suites        = 20   // with other times each
	atMost        = 1.15 // times the mean, for the slowest shard
)

// skewed are the milliseconds of test files, as of end-to-end tests: half of them take less than 3 s, one in ten longer than 9 s, and the
// longest a minute, which is a fifth of a shard. A file that takes longer than a shard should would be the slowest one however it is split.
func skewed(r *rand.Rand, first, n int) map[string]int64 {
	all := map[string]int64{}
	for i := first; i < first+n; i++ {
		seconds := min(60, 2/math.Pow(1-r.Float64(), 1/1.5))
		all[fmt.Sprintf("tests/area-%02d/file-%03d.spec.ts", i%17, i)] = int64(seconds * 1000)
	}
	return all
}

// fiveRuns are runs in which each file took up to a fifth more or less.
func fiveRuns(r *rand.Rand, all map[string]int64) (runs []*split.Run) {
	for i := range 5 {
		run := split.NewRun(fmt.Sprintf("run-%d", i))
		for _, name := range slices.Sorted(maps.Keys(all)) {
			run.Add(name, name, int64(float64(all[name])*(0.8+0.4*r.Float64())))
		}
		runs = append(runs, run)
	}
	return runs
}

// slowest is what the slowest shard takes, by the mean of all.
func slowest(took map[string]int64, t split.Timings) float64 {
	var longest, all int64
	for _, names := range split.Split(slices.Collect(maps.Keys(took)), shards, t).Shards {
		var shard int64
		for _, name := range names {
			shard += took[name]
		}
		longest, all = max(longest, shard), all+shard
	}
	return float64(longest) * shards / float64(all)
}

// balance has, for each kind of history, the ratios of all suites in ascending order. The seeds are fixed, so it is always the same.
func balance() map[string][]float64 {
	ratios := map[string][]float64{}
	for seed := range uint64(suites) {
		r := rand.New(rand.NewPCG(seed, 29))
		before := skewed(r, 0, files)
		times := split.Aggregate(fiveRuns(r, before))
		after := skewed(r, files, changed)
		for _, name := range slices.Sorted(maps.Keys(before))[changed:] {
			after[name] = before[name]
		}
		ratios["no"] = append(ratios["no"], slowest(before, split.Timings{}))
		ratios["yes"] = append(ratios["yes"], slowest(before, times))
		ratios["changed"] = append(ratios["changed"], slowest(after, times))
	}
	for _, all := range ratios {
		slices.Sort(all)
	}
	return ratios
}

// TestSplitIsBalanced with history. Without it, nothing is known but the number of files.
func TestSplitIsBalanced(t *testing.T) {
	for _, kind := range []string{"yes", "changed"} {
		if worst := balance()[kind][suites-1]; worst > atMost {
			t.Errorf("history=%s: the slowest shard takes %.2f times the mean, want at most %.2f", kind, worst, atMost)
		}
	}
}

func BenchmarkShards(b *testing.B) {
	for b.Loop() {
		balance()
	}
	for _, kind := range []string{"yes", "changed", "no"} {
		all := balance()[kind]
		fmt.Printf("SHARDS files=%d shards=%d history=%s slowest_over_mean=%.2f worst_of_%d=%.2f\n", files, shards, kind, all[suites/2], suites, all[suites-1])
	}
}
