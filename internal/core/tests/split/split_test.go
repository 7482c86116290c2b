package split_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/internal/core/tests/split"
	"github.com/postflight-dev/postflight/test/tier"
)

type times = map[string]int64

func TestSplit(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		names  []string
		times  split.Timings
		want   [][]string
	}{
		"no name": {"There is nothing to do.", nil, split.Timings{}, [][]string{nil, nil}},
		"no time": {"They are dealt out like cards.", []string{"e", "d", "c", "b", "a"}, split.Timings{}, [][]string{{"a", "c", "e"}, {"b", "d"}}},
		"twice":   {"A file runs once.", []string{"a", "a", "b", "a"}, split.Timings{}, [][]string{{"a"}, {"b"}}},
		"one long": {"The others make up for it.", []string{"a", "b", "c", "long"}, split.Timings{Files: times{"long": 9000, "a": 3000, "b": 3000, "c": 3000}},
			[][]string{{"long"}, {"a", "b", "c"}}},
		"new ones": {"Each shard gets as many of them.", []string{"a", "b", "new1", "new2", "new3", "new4"}, split.Timings{Files: times{"a": 1000, "b": 60000}},
			[][]string{{"b", "new1", "new3"}, {"a", "new2", "new4"}}},
		"removed": {"What is not there does not count.", []string{"a", "b"}, split.Timings{Files: times{"a": 1000, "b": 1000, "gone": 60000}},
			[][]string{{"a"}, {"b"}}},
		"all take no time": {"They count the same.", []string{"a", "b", "c", "d"}, split.Timings{Files: times{"a": 0, "b": 0, "c": 0, "d": 0}},
			[][]string{{"a", "c"}, {"b", "d"}}},
		"omitted": {"What is not listed is fast.", []string{"fast1", "fast2", "fast3", "slow1", "slow2"},
			split.Timings{Files: times{"slow1": 9000, "slow2": 6000}, Omitted: 3, Other: 1000}, [][]string{{"fast1", "fast3", "slow2"}, {"fast2", "slow1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, split.Split(tc.names, 2, tc.times).Shards); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSplitPlan(t *testing.T) {
	p := split.Split([]string{"a", "b", "c", "new"}, 2, split.Timings{Files: times{"a": 9000, "b": 3000, "c": 3000}})
	if diff := cmp.Diff(split.Plan{Shards: [][]string{{"b", "c", "new"}, {"a"}}, Times: []int64{9000, 9000}, New: 1}, p); diff != "" {
		t.Error(diff)
	}
}

// TestSplitMatches: reports name files in other ways than shells.
func TestSplitMatches(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		timings times
		names   []string
		known   int
	}{
		"the same":               {"Jest has the path from the root.", times{"tests/cart.test.js": 1}, []string{"tests/cart.test.js"}, 1},
		"a dot":                  {"As find prints it.", times{"tests/cart.test.js": 1}, []string{"./tests/cart.test.js"}, 1},
		"below a folder":         {"Playwright leaves testDir out.", times{"cart.spec.ts": 1, "user/cart.spec.ts": 1}, []string{"e2e/user/cart.spec.ts", "e2e/pay.spec.ts"}, 1},
		"absolute":               {"As in the pod of an earlier image.", times{"/app/tests/cart.spec.ts": 1}, []string{"tests/cart.spec.ts"}, 1},
		"not half a name":        {"Segments count whole.", times{"my-cart.spec.ts": 1}, []string{"cart.spec.ts", "tests/cart.spec.ts"}, 0},
		"ambiguous":              {"It could be either.", times{"a/cart.spec.ts": 1, "b/cart.spec.ts": 1}, []string{"cart.spec.ts"}, 0},
		"shared":                 {"Reports have only the last part.", times{"cart.spec.ts": 1}, []string{"a/cart.spec.ts", "b/cart.spec.ts"}, 2},
		"exactly one":            {"The other is new.", times{"cart.spec.ts": 1}, []string{"a/cart.spec.ts", "cart.spec.ts"}, 1},
		"a module":               {"pytest has modules.", times{"tests.test_cart": 1}, []string{"tests/test_cart.py"}, 1},
		"a class":                {"pytest has classes in modules.", times{"tests.test_cart.TestCart": 1, "tests.test_cart.TestPay": 1}, []string{"tests/test_cart.py"}, 1},
		"a class and a file":     {"A test failed there, and nothing else is known of its class.", times{"tests.test_cart.TestCart": 1, "tests/test_cart.py": 1}, []string{"tests/test_cart.py"}, 1},
		"not half a module":      {"Segments count whole.", times{"tests.test_cart_old": 1}, []string{"tests/test_cart.py"}, 0},
		"a package":              {"go list prints it as reports have it.", times{"example.com/shop/cart": 1}, []string{"example.com/shop/cart"}, 1},
		"a folder of Go":         {"For those who list folders.", times{"example.com/shop/cart": 1}, []string{"./cart"}, 1},
		"nothing but characters": {"They are names as others.", times{"a\nb": 1, "\u202ee": 1}, []string{"a\nb", "\u202ee"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if p := split.Split(tc.names, 2, split.Timings{Files: tc.timings}); len(tc.names)-p.New != tc.known {
				t.Errorf("%s: %d are known, want %d", tc.reason, len(tc.names)-p.New, tc.known)
			}
		})
	}
}

// TestSplitProperties: every file is in exactly one shard, whatever the order of the names, and new files are spread evenly.
func TestSplitProperties(t *testing.T) {
	tier.PinRapid(t)
	segment := rapid.SampledFrom([]string{"a", "b", ".", "..", "c.py", "c.spec.ts", "é", "", "a.b"})
	file := rapid.Custom(func(t *rapid.T) string {
		text := segment.Draw(t, "first")
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			text += "/" + segment.Draw(t, "segment")
		}
		return text
	})
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(file, 0, 60).Draw(t, "names")
		timings := split.Timings{
			Files:   rapid.MapOfN(file, rapid.Int64Range(0, 600_000), 0, 60).Draw(t, "times"),
			Omitted: rapid.IntRange(0, 1).Draw(t, "omitted"), Other: rapid.Int64Range(0, 1000).Draw(t, "other"),
		}
		count := rapid.IntRange(1, 64).Draw(t, "shards")
		p := split.Split(names, count, timings)
		if diff := cmp.Diff(p, split.Split(rapid.Permutation(names).Draw(t, "another order"), count, timings)); diff != "" {
			t.Fatalf("another order of names splits them in another way: %s", diff)
		}
		var all []string
		fewest, most := len(names), 0
		for _, shard := range p.Shards {
			all = append(all, shard...)
			fewest, most = min(fewest, len(shard)), max(most, len(shard))
			if !slices.IsSorted(shard) {
				t.Fatalf("not sorted: %q", shard)
			}
		}
		slices.Sort(all)
		if want := slices.Compact(slices.Sorted(slices.Values(names))); !slices.Equal(want, all) {
			t.Fatalf("all shards together have %q, want %q", all, want)
		}
		if p.New == len(all) && most > fewest+1 {
			t.Fatalf("new files are not spread evenly: %d to %d", fewest, most)
		}
		if again, err := split.Parse(timings.Encode()); err != nil || cmp.Diff(p, split.Split(names, count, again)) != "" {
			t.Fatalf("the file with the times splits in another way: %v", err)
		}
	})
}

// TestSplitSpreadsNewFiles: also beside files that are known.
func TestSplitSpreadsNewFiles(t *testing.T) {
	timings, names := split.Timings{Files: times{}}, []string{}
	for i := range 50 {
		name := fmt.Sprintf("known-%02d", i)
		names, timings.Files[name] = append(names, name), int64(i*i*100)
	}
	for i := range 9 {
		names = append(names, fmt.Sprintf("new-%d", i))
	}
	for i, shard := range split.Split(names, 4, timings).Shards {
		n := 0
		for _, name := range shard {
			if _, known := timings.Files[name]; !known {
				n++
			}
		}
		if n < 2 || n > 3 {
			t.Errorf("shard %d has %d of 9 new files", i, n)
		}
	}
}

// TestSplitMuch: 100,000 files.
func TestSplitMuch(t *testing.T) {
	timings, names := split.Timings{Files: times{}}, []string{}
	for i := range 100_000 {
		names = append(names, fmt.Sprintf("packages/p%d/tests/file%d.test.ts", i%300, i))
		if i%2 == 0 {
			timings.Files[names[i]] = int64(i % 5000)
		}
	}
	p := split.Split(names, 64, timings)
	if p.New != 50_000 || slices.Max(p.Times) > slices.Min(p.Times)*101/100 {
		t.Errorf("%d new ones, %d to %d ms", p.New, slices.Min(p.Times), slices.Max(p.Times))
	}
	if len(slices.Collect(maps.Keys(timings.Files))) != 50_000 {
		t.Error("the times were changed")
	}
}
