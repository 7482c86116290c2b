package split

import (
	"path"
	"slices"
	"strings"
)

// matcher finds the time of a file, although reports name it in other ways than a shell does.
type matcher struct {
	exact  map[string]string   // the key of a clean path
	last   map[string][]string // keys by the last segment of their path
	sorted []string            // keys
	files  map[string]int64
}

func newMatcher(t Timings) *matcher {
	m := &matcher{exact: map[string]string{}, last: map[string][]string{}, files: t.Files}
	for key := range t.Files {
		m.sorted = append(m.sorted, key)
	}
	slices.Sort(m.sorted)
	for _, key := range m.sorted {
		m.exact[path.Clean(key)] = key
		last := path.Base(path.Clean(key))
		m.last[last] = append(m.last[last], key)
	}
	return m
}

// times returns the milliseconds of the names that are known. The names are sorted. A time that several names could have by the end of
// their paths is shared by them, unless it is exactly that of one.
func (m *matcher) times(names []string) map[string]int64 {
	times := map[string]int64{}
	exact := map[string]bool{}
	similar := map[string][]string{}
	for _, name := range names {
		key, isKey := m.exact[path.Clean(name)]
		ms, isModule := m.module(name)
		if isKey || isModule {
			times[name], exact[key] = bounded(ms+m.files[key]), true
		} else if key := m.similar(name); key != "" {
			similar[key] = append(similar[key], name)
		}
	}
	for key, names := range similar {
		if exact[key] {
			continue
		}
		for _, name := range names {
			times[name] = m.files[key] / int64(len(names))
		}
	}
	return times
}

// similar returns the key whose path ends with that of the name, or the reverse: runners write paths below a folder of theirs, or absolute
// ones. It returns "" if several fit equally well.
func (m *matcher) similar(name string) (best string) {
	name = path.Clean(name)
	longest := 0
	for _, key := range m.last[path.Base(name)] {
		clean := path.Clean(key)
		if !strings.HasSuffix("/"+clean, "/"+name) && !strings.HasSuffix("/"+name, "/"+clean) {
			continue
		}
		switch common := min(len(clean), len(name)); {
		case common > longest:
			best, longest = key, common
		case common == longest:
			best = ""
		}
	}
	return best
}

// module returns the time of a file of Python: pytest reports tests/test_cart.py as the class tests.test_cart, or tests.test_cart.TestCart.
func (m *matcher) module(name string) (ms int64, known bool) {
	stem, isPython := strings.CutSuffix(path.Clean(name), ".py")
	if !isPython {
		return 0, false
	}
	dotted := strings.ReplaceAll(stem, "/", ".")
	first, _ := slices.BinarySearch(m.sorted, dotted)
	for _, key := range m.sorted[first:] {
		if !strings.HasPrefix(key, dotted) {
			break
		}
		if key == dotted || key[len(dotted)] == '.' {
			ms, known = bounded(ms+m.files[key]), true
		}
	}
	return ms, known
}
