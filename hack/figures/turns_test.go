package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// script is a benchmark that prints a line, and notes that it ran.
func script(t *testing.T, root, name, text string) *program {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+name+" >>"+filepath.Join(root, "order")+"\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &program{tree{root: root, name: name}, row{folder: ".", benchmarks: "Made"}, path}
}

func TestTurns(t *testing.T) {
	round := []string{"base", "new", "new", "base"}
	cases := map[string]struct {
		reason    string
		base, now string
		thorough  bool
		runs      []string
		want      map[string]verdict // by key, without the CPU time
		fails     bool
	}{
		"equal": {"two rounds show it", "echo MADE bytes=100 ms=5", "echo MADE bytes=100 ms=5", false,
			slices.Repeat(round, 2), map[string]verdict{"bytes": same, "ms": same}, false},
		"larger": {"a loss needs two more rounds to be sure of", "echo MADE bytes=100 ms=5", "echo MADE bytes=110 ms=4", false,
			slices.Repeat(round, 4), map[string]verdict{"bytes": worse, "ms": better}, false},
		"other keys": {"only those are compared that both print", "echo MADE bytes=100 rss_mib=4", "echo MADE bytes=100 heap_mib=4", false,
			slices.Repeat(round, 2), map[string]verdict{"bytes": same, "rss_mib": gone, "heap_mib": added}, false},
		"the base has no figure": {"its benchmark is older", "true", "echo MADE bytes=100", false,
			slices.Repeat(round, 2), map[string]verdict{"bytes": added}, false},
		"the base fails": {"that does not keep the new figures from being printed", "exit 1", "echo MADE bytes=100", false,
			round[:3], map[string]verdict{"bytes": added}, false},
		"the new one fails": {"that is a failure", "echo MADE bytes=100", "exit 1", false, round[:2], nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			c := &contest{base: script(t, root, "base", tc.base), now: script(t, root, "new", tc.now), unfair: true, values: map[id]series{}}
			if err := turns(t.Context(), []*contest{c}, tc.thorough, time.Time{}, io.Discard); err != nil {
				t.Fatal(err)
			}
			order, _ := os.ReadFile(filepath.Join(root, "order"))
			if got := strings.Fields(string(order)); !slices.Equal(got, tc.runs) {
				t.Errorf("%s: ran %v, want %v", tc.reason, got, tc.runs)
			}
			if (c.failed != nil) != tc.fails {
				t.Errorf("%s: failed: %v", tc.reason, c.failed)
			}
			got := map[string]verdict{}
			for _, line := range c.list {
				got[line.key] = line.verdict
			}
			for key, v := range tc.want {
				if got[key] != v {
					t.Errorf("%s: %s is %s, want %s: %v", tc.reason, key, got[key], v, c.list)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("%s: %v, want %v", tc.reason, c.list, tc.want)
			}
		})
	}
}

// TestTime: no round begins that would take longer, and an interrupted comparison stops.
func TestTime(t *testing.T) {
	root := t.TempDir()
	c := &contest{row: row{expected: time.Hour}, base: script(t, root, "base", "true"), now: script(t, root, "new", "true"), values: map[id]series{}}
	if err := turns(t.Context(), []*contest{c}, true, time.Now().Add(time.Hour), io.Discard); err != nil || c.rounds != 0 {
		t.Errorf("%d rounds, %v", c.rounds, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := turns(ctx, []*contest{c}, true, time.Time{}, io.Discard); err == nil {
		t.Error("an interrupted comparison has no result")
	}
}

func TestNext(t *testing.T) {
	of := func(rounds int, v verdict, ratio float64) *contest {
		return &contest{base: &program{}, rounds: rounds, list: []comparison{{meaning: less, spread: spread{ratio, .5, 2}, verdict: v}}}
	}
	fresh, settled, noisy, slower, lost := of(1, unclear, 1), of(2, same, 1), of(2, unclear, .98), of(2, unclear, 1.1), of(4, worse, 1.2)
	all := []*contest{fresh, settled, noisy, slower, lost}
	if got, want := next(all, false), []*contest{slower, fresh}; !slices.Equal(got, want) {
		t.Errorf("what may have lost something is first, and what only varies is left out: %v, want %v", got, want)
	}
	if got, want := next(all, true), []*contest{slower, fresh, noisy}; !slices.Equal(got, want) {
		t.Errorf("a thorough comparison wants a verdict for all: %v, want %v", got, want)
	}
}

func TestComparisonLine(t *testing.T) {
	c := comparison{id: id{"PAGE", "path=/runs", "p50_ms"}, meaning: less, base: 6.2, now: 7.6, spread: spread{1.226, 1.1, 1.4}, verdict: worse}
	want := `COMPARE figure=PAGE key=p50_ms setting="path=/runs" base=6.2 new=7.6 ratio=1.226 low=1.100 high=1.400 verdict=worse`
	if c.String() != want {
		t.Errorf("got  %s\nwant %s", c, want)
	}
}

func TestHistoryRow(t *testing.T) {
	page := "# Figures\n\n| Line | What |\n|---|---|\n\n| Release | `COLLECT tests_per_second` | `PAGE p50_ms path=/runs` | `GONE ratio` | `LATE ms` |\n|---|---|\n"
	got, err := historyRow(page, "v1.2.3", []comparison{
		{id: id{"COLLECT", "files=500", "tests_per_second"}, now: 68280.4, spread: spread{ratio: .686}, verdict: worse},
		{id: id{"PAGE", "path=/board runs=10", "p50_ms"}, now: 1, spread: spread{ratio: 2}, verdict: same},
		{id: id{"PAGE", "path=/runs runs=10", "p50_ms"}, now: 6.25, spread: spread{ratio: 1}, verdict: unclear},
		{id: id{"GONE", "", "ratio"}, base: 1, verdict: gone},
	})
	if want := "| v1.2.3 | 68280 (0.69) | 6.25 (1.00) | – | – |"; got != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if _, err := historyRow("# Figures\n", "v1.2.3", nil); err == nil {
		t.Error("a page without the table is no error")
	}
}

func TestTouched(t *testing.T) {
	o := &origin{folders: map[string]bool{".": false, "internal/a": true, "internal/a/b": false, "test/world": true}, server: true}
	cases := map[string]struct {
		file            string
		touched, unfair bool
	}{
		"a package":                   {"internal/a/a.go", true, false},
		"data of a package":           {"internal/a/testdata/x/y.json", true, false},
		"another package":             {"internal/a/b/b.go", false, false},
		"a test of a package":         {"internal/a/a_test.go", true, true},
		"a package of tests":          {"test/world/world.go", true, true},
		"a CRD of its API server":     {"config/crd/bases/x.yaml", true, false},
		"a page":                      {"docs/figures.md", false, false},
		"the versions of its modules": {"go.mod", true, false},
	}
	for name, tc := range cases {
		if touched, unfair := o.touched([]string{tc.file}), o.unfair([]string{tc.file}); touched != tc.touched || unfair != tc.unfair {
			t.Errorf("%s: touched %t, unfair %t, want %+v", name, touched, unfair, tc)
		}
	}
	o.server = false
	if o.touched([]string{"config/crd/bases/x.yaml"}) {
		t.Error("without an API server, a CRD changes nothing")
	}
}

func TestChoice(t *testing.T) {
	table, err := parseTable("# a comment\n\na . 1x 5 change\nb Memory 1s 30 night\nc . 1x 300 hand\n")
	if err != nil {
		t.Fatal(err)
	}
	for when, want := range map[string]int{"change": 1, "night": 2, "hand": 3, "never": 0} {
		if got := (choice{regexp.MustCompile("."), when}).of(table); len(got) != want {
			t.Errorf("%s: %v, want %d rows", when, got, want)
		}
	}
	if got := (choice{regexp.MustCompile("Mem"), "night"}).of(table); len(got) != 1 || got[0].name() != "b Memory" || got[0].expected != 30*time.Second {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"a . 1x 5", "a . 1x five change", "a . 1x 5 sometimes"} {
		if _, err := parseTable(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
