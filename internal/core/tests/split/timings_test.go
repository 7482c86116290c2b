package split_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/tests/split"
)

func run(name string, files times) *split.Run {
	r := split.NewRun(name)
	for file, ms := range files {
		r.Add(file, file, ms)
	}
	return r
}

func TestAggregate(t *testing.T) {
	sum := split.NewRun("r1")
	for _, ms := range []int64{500, 700, -20, math.MinInt64} {
		sum.Add("cart", "a", ms)
	}
	absurd := run("r1", times{"a": math.MaxInt64})
	absurd.Add("a", "a", math.MaxInt64)
	unplaced := split.NewRun("r1")
	unplaced.Add("example.com/cart", "", 10)
	unplaced.Add("example.com/cart", "cart_test.go", 20)
	unplaced.Add("pay", "pay.spec.ts", 7)
	unplaced.Add("", "", 7)
	for name, tc := range map[string]struct {
		reason string
		runs   []*split.Run
		want   split.Timings
	}{
		"no run":       {"The first one.", nil, split.Timings{Files: times{}}},
		"no file":      {"Its reports name none.", []*split.Run{split.NewRun("r1")}, split.Timings{Files: times{}}},
		"its tests":    {"A file takes what its tests take; no test takes less than nothing.", []*split.Run{sum}, split.Timings{Runs: []string{"r1"}, Files: times{"a": 1200}}},
		"absurd":       {"No run takes longer than a week.", []*split.Run{absurd}, split.Timings{Runs: []string{"r1"}, Files: times{"a": 604_800_000}}},
		"three":        {"One slow run changes nothing.", []*split.Run{run("r3", times{"a": 1000}), run("r2", times{"a": 90_000}), run("r1", times{"a": 1200})}, split.Timings{Runs: []string{"r3", "r2", "r1"}, Files: times{"a": 1200}}},
		"two":          {"The middle of both.", []*split.Run{run("r2", times{"a": 1000}), run("r1", times{"a": 2000})}, split.Timings{Runs: []string{"r2", "r1"}, Files: times{"a": 1500}}},
		"each its own": {"A file that was added or removed has only some of them.", []*split.Run{run("r2", times{"a": 1, "new": 7}), split.NewRun("without"), run("r1", times{"a": 1, "old": 8})}, split.Timings{Runs: []string{"r2", "r1"}, Files: times{"a": 1, "new": 7, "old": 8}}},
		"six": {"The sixth is too old.", []*split.Run{run("r6", times{"a": 1}), run("r5", times{"a": 1}), run("r4", times{"a": 1}), run("r3", times{"a": 1}), run("r2", times{"a": 1}), run("r1", times{"a": 9, "b": 9})},
			split.Timings{Runs: []string{"r6", "r5", "r4", "r3", "r2"}, Files: times{"a": 1}}},
		"packages": {"Reports of Go know no files, except where a test failed.", []*split.Run{unplaced}, split.Timings{Runs: []string{"r1"}, Files: times{"example.com/cart": 30, "pay.spec.ts": 7}}},
		"names":    {"What cannot be a file counts nowhere.", []*split.Run{run("r1", times{"": 1, strings.Repeat("x", 10<<10): 1, "a\xff": 1, "line\nfeed": 1})}, split.Timings{Runs: []string{"r1"}, Files: times{"line\nfeed": 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, split.Aggregate(tc.runs)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestEncode(t *testing.T) {
	timings := split.Timings{Runs: []string{"r2"}, Files: times{"b\n\"": 1500, "a": 1, "c": 604_800_000}, Omitted: 3, Other: 40, Problem: "None."}
	const want = `{
 "runs": [
  "r2"
 ],
 "seconds": {
  "a": 0.001,
  "b\n\"": 1.5,
  "c": 604800
 },
 "omitted": 3,
 "omittedSeconds": 0.04,
 "problem": "None."
}
`
	if diff := cmp.Diff(want, string(timings.Encode())); diff != "" {
		t.Error(diff)
	}
	if got, err := split.Parse(timings.Encode()); err != nil || cmp.Diff(timings, got) != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if diff := cmp.Diff("{\n \"runs\": [],\n \"seconds\": {}\n}\n", string(split.Timings{}.Encode())); diff != "" {
		t.Error(diff)
	}
}

func TestParseHostile(t *testing.T) {
	whole := string(run2("a", "b").Encode())
	for i := range len(whole) - 1 {
		if got, err := split.Parse([]byte(whole[:i])); err == nil {
			t.Errorf("cut after %d bytes, it has %v", i, got)
		}
	}
	for name, content := range map[string]string{
		"null": "null", "a list": "[]", "no seconds": "{}", "a text": `{"seconds": {"a": "1"}}`, "no number": `{"seconds": {"a": null}}`, "more": whole + "x",
	} {
		if got, err := split.Parse([]byte(content)); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	got, err := split.Parse([]byte(`{"seconds": {"negative": -5, "absurd": 1e300, "tiny": 1e-300}, "omitted": -1, "omittedSeconds": -1}`))
	want := split.Timings{Files: times{"negative": 0, "absurd": 604_800_000, "tiny": 0}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func run2(names ...string) split.Timings {
	t := split.Timings{Runs: []string{"r1"}, Files: times{}}
	for _, name := range names {
		t.Files[name] = 1500
	}
	return t
}

// TestFit keeps the slowest files, because the others matter least.
func TestFit(t *testing.T) {
	all := split.Timings{Runs: []string{"r1"}, Files: times{}}
	for i := range 30_000 {
		all.Files[fmt.Sprintf("tests/file-%05d.spec.ts", i)] = int64(i)
	}
	tried := 0
	fit := all.Fit(func(b []byte) bool { tried++; return len(b) <= 64<<10 })
	n := len(fit.Files)
	if size := len(fit.Encode()); size > 64<<10 || size < 63<<10 || tried > 20 {
		t.Errorf("%d bytes, after %d attempts", size, tried)
	}
	if _, kept := fit.Files["tests/file-29999.spec.ts"]; !kept || fit.Omitted != 30_000-n || fit.Other != int64(30_000-n-1)/2 {
		t.Errorf("%d are kept; %d are omitted, which take %d ms", n, fit.Omitted, fit.Other)
	}
	if diff := cmp.Diff(run2("a"), run2("a").Fit(func([]byte) bool { return true })); diff != "" {
		t.Errorf("there was room: %s", diff)
	}
	if none := all.Fit(func([]byte) bool { return false }); len(none.Files) != 0 || none.Omitted != 30_000 {
		t.Errorf("without room, %d are kept", len(none.Files))
	}
}

func TestNames(t *testing.T) {
	for name, tc := range map[string]struct {
		input string
		nul   bool
		want  []string
	}{
		"lines":           {"b\na\n", false, []string{"a", "b"}},
		"no end":          {"b\na", false, []string{"a", "b"}},
		"Windows":         {"b\r\na\r\n", false, []string{"a", "b"}},
		"blank lines":     {"\n\na\n\n", false, []string{"a"}},
		"spaces are kept": {" a b \n", false, []string{" a b "}},
		"twice":           {"a\nB\na\n", false, []string{"B", "a"}},
		"NUL":             {"b\nc\x00a\r\x00", true, []string{"a\r", "b\nc"}},
		"nothing":         {"", false, nil},
		"no UTF-8":        {"\xff\n", false, []string{"\xff"}},
	} {
		if got, err := split.Names([]byte(tc.input), tc.nul); err != nil || len(got) != len(tc.want) || len(got) > 0 && cmp.Diff(tc.want, got) != "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, input := range map[string]string{
		"has 4097 bytes": strings.Repeat("\xff", 4097), "at most 100000 can be split": "a" + strings.Repeat("\n1", 1) + many(100_001),
	} {
		if got, err := split.Names([]byte(input), false); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%d names, %v; want %q", len(got), err, name)
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\nn%d", i)
	}
	return b.String()
}
