package split

import (
	"cmp"
	"slices"
)

// Plan is what each shard gets.
type Plan struct {
	Shards [][]string // names, sorted
	Times  []int64    // milliseconds that each shard is expected to take; all are 0 if no file is known
	New    int        // files without a time
}

// Split gives each name to one of the shards. Its result depends on the set of the names, and on nothing else of them.
//
// Files without a time come first, and each shard gets as many of them, give or take one. Then the others, the longest first, each to the
// shard that has least to do. For a new file, that is the median of the others; without any time, each counts the same.
func Split(names []string, shards int, t Timings) Plan {
	p := Plan{Shards: make([][]string, shards), Times: make([]int64, shards)}
	files := weighed(slices.Compact(slices.Sorted(slices.Values(names))), t)
	for _, f := range files {
		least := 0
		for i := range shards {
			if cmp.Or(cmp.Compare(p.Times[i], p.Times[least]), cmp.Compare(len(p.Shards[i]), len(p.Shards[least]))) < 0 {
				least = i
			}
		}
		p.Shards[least] = append(p.Shards[least], f.name)
		p.Times[least] += f.ms
		if f.isNew {
			p.New++
		}
	}
	for _, names := range p.Shards {
		slices.Sort(names)
	}
	return p
}

type file struct {
	name  string
	ms    int64
	isNew bool
}

// weighed returns the files in the order in which they are given to shards.
func weighed(names []string, t Timings) []file {
	times := newMatcher(t).times(names)
	var known []int64
	for _, ms := range times {
		known = append(known, ms)
	}
	other := median(known)
	if t.Omitted > 0 {
		other = t.Other
	}
	files := make([]file, 0, len(names))
	for _, name := range names {
		ms, isKnown := times[name]
		if !isKnown {
			ms = other
		}
		files = append(files, file{name, ms, !isKnown})
	}
	slices.SortFunc(files, func(a, b file) int {
		switch {
		case a.isNew != b.isNew && a.isNew:
			return -1
		case a.isNew != b.isNew:
			return 1
		default:
			return cmp.Or(cmp.Compare(b.ms, a.ms), cmp.Compare(a.name, b.name))
		}
	})
	return files
}
