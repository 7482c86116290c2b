package collect

import (
	"slices"

	"github.com/postflight-dev/postflight/internal/core/tests/junit"
)

// attempts returns the files that may be reports. If the last attempts count, reports of the same tests are together, in their order.
func attempts(files []file, last bool) (all [][]*file) {
	places := map[string]int{}
	for i := range files {
		f := &files[i]
		if !junit.IsReport(f.path) {
			continue
		}
		tests := f.path
		if last {
			tests = junit.AttemptOf(f.path).Last
		}
		at, known := places[tests]
		if !known {
			at, places[tests] = len(all), len(all)
			all = append(all, nil)
		}
		all[at] = append(all[at], f)
	}
	var sorted [][]*file
	for _, same := range all {
		if last && severalSeries(same) {
			sorted = append(sorted, slices.Collect(slices.Chunk(same, 1))...)
			continue
		}
		slices.SortStableFunc(same, func(a, b *file) int { return junit.AttemptOf(a.path).Number - junit.AttemptOf(b.path).Number })
		sorted = append(sorted, same)
	}
	return sorted
}

// severalSeries reports whether files may have the tests of several programs.
func severalSeries(files []*file) bool {
	series := map[string]bool{}
	for _, f := range files {
		if s := junit.AttemptOf(f.path).Series; s != "" {
			series[s] = true
		}
	}
	return len(series) > 1
}
