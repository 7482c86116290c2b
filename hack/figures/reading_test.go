package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse(t *testing.T) {
	of := func(figure, setting, key string, value float64) reading {
		return reading{id{figure: figure, setting: setting, key: key}, value}
	}
	cases := map[string]struct {
		reason, output string
		want           []reading
	}{
		"a figure": {"testing prints the name of the benchmark before, and the time of all turns after it",
			"BenchmarkAnswer-2   \tANSWER concurrency=16 per_second=400 raw_per_second=440 ratio=0.91 p99_ms=40.5\n       1\t9000000 ns/op\t 12 B/op\n",
			[]reading{of("ANSWER", "concurrency=16", "per_second", 400), of("ANSWER", "concurrency=16", "ratio", .91), of("ANSWER", "concurrency=16", "p99_ms", 40.5)}},
		"settings tell lines apart": {"the order of the keys does not matter",
			"PAGE path=/runs runs=10000 p50_ms=6.2 bytes=100\nPAGE path=/board runs=10000 p50_ms=7\n",
			[]reading{of("PAGE", "path=/runs runs=10000", "p50_ms", 6.2), of("PAGE", "path=/runs runs=10000", "bytes", 100), of("PAGE", "path=/board runs=10000", "p50_ms", 7)}},
		"a text with spaces, and durations of Go": {"", `MATCH_10000 mix="a few = many" caches=warm index=1.5ms scan=2s` + "\n",
			[]reading{of("MATCH_10000", `mix="a few = many" caches=warm`, "index", .0015)}},
		"from a log": {"b.Logf names the file", "    bench_test.go:12: REPLAY notifications=10 seconds=2.50\n",
			[]reading{of("REPLAY", "notifications=10", "seconds", 2.5)}},
		"what is no number": {"it is left out", "REPLAY notifications=10 seconds=NaN? memory_peak_mib=17\n",
			[]reading{of("REPLAY", "notifications=10", "memory_peak_mib", 17)}},
		"the time of a call": {"a benchmark without a figure",
			"goos: linux\nBenchmarkDecode/small-2 \t  300\t  4012.5 ns/op\t 1840 B/op\t  33 allocs/op\nPASS\n",
			[]reading{of("BenchmarkDecode/small", "", "ns/op", 4012.5), of("BenchmarkDecode/small", "", "B/op", 1840), of("BenchmarkDecode/small", "", "allocs/op", 33)}},
		"other output": {"", "PASS\nok  \texample 1.2s\nE1129 the API server said: retry=1\n", nil},
	}
	for name, tc := range cases {
		if diff := cmp.Diff(tc.want, parse(tc.output), cmp.AllowUnexported(reading{}, id{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (%s): -want +got\n%s", name, tc.reason, diff)
		}
	}
}

func TestMeaning(t *testing.T) {
	cases := map[string]meaning{
		"ANSWER per_second": more, "MASK mib_per_s": more, "ANSWER ratio": more, "SECOND_CACHE ratio": less,
		"ANSWER p99_ms": less, "ANSWER raw_p99_ms": omitted, "SUITE_MEMORY bytes_per_suite": less, "COLLECT max_rss_mib": less,
		"STREAM_CPU ms_per_arrival": less, "REPLAY seconds": less, "WORKLOADS idle_requests_per_second": less,
		"TEAM_BURST limit_mib": setting, "TEAM_BURST manager_cpu_ms_per_run": less, "TEAM_BURST most": omitted, "X colour": unknown,
	}
	for name, want := range cases {
		figure, key, _ := strings.Cut(name, " ")
		if got := meaningOf(figure, key); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

var (
	benchmarkFunc = regexp.MustCompile(`(?m)^func (Benchmark\w+)\(`)
	printed       = regexp.MustCompile(`"([A-Z][A-Z0-9_]+)((?: [a-z][a-z0-9_%]*=[^\s"]*)+)[^"\n]*"(?: \+\s*"([^"\n]*)")?(?: \+\s*"([^"\n]*)")?`)
)

// TestTable: each benchmark that the table names exists, the table names each that prints a figure, and each key of these has a
// meaning.
func TestTable(t *testing.T) {
	t.Chdir("../..")
	table, err := readTable()
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, r := range table {
		files, err := filepath.Glob(filepath.Join(r.folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		pattern, found := regexp.MustCompile(strings.Split(r.benchmarks, "/")[0]), false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, benchmark := range benchmarkFunc.FindAllSubmatch(text, -1) {
				if !pattern.Match(benchmark[1]) {
					continue
				}
				found, listed[file] = true, true
				for _, line := range printed.FindAllStringSubmatch(string(text), -1) {
					for _, pair := range strings.Fields(line[2] + line[3] + line[4]) {
						if key, _, is := strings.Cut(pair, "="); is && !strings.Contains(key, "%") && meaningOf(line[1], key) == unknown {
							t.Errorf("%s: %s does not tell whether less or more of %s is better: see meaning.go", file, line[1], key)
						}
					}
				}
			}
		}
		if !found {
			t.Errorf("%s: there is no benchmark %s", tableFile, r.name())
		}
	}
	// Those of test/peers need programs of other projects, and have commands of their own.
	others := []string{"bin", "hack", "dist", "test/peers"}
	err = filepath.WalkDir(".", func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (file != "." && strings.HasPrefix(d.Name(), ".") || slices.Contains(others, file)) {
			return skip(err)
		}
		if !strings.HasSuffix(file, "_test.go") || listed[file] {
			return nil
		}
		text, err := os.ReadFile(file)
		if err == nil && benchmarkFunc.Match(text) && printed.Match(text) {
			t.Errorf("%s lists no benchmark of %s", tableFile, file)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// skip leaves out a folder, unless it cannot be read.
func skip(err error) error {
	if err != nil {
		return err
	}
	return filepath.SkipDir
}
