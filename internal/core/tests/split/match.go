package split

import (
	"path"
	"slices"
	"strings"
)

// matcher finds the time of a file, although reports name it in other ways than a shell does.
type matcher struct {
	exact  map[string]string // the key of a clean path
	ending map[string]string // the key whose clean path ends in these segments; "" if several do
	sorted []string          // keys
	files  map[string]int64
}

func newMatcher(t Timings) *matcher {
	m := &matcher{exact: map[string]string{}, ending: map[string]string{}, files: t.Files}
	for key := range t.Files {
		m.sorted = append(m.sorted, key)
	}
	slices.Sort(m.sorted)
	for _, key := range m.sorted {
		clean := path.Clean(key)
		m.exact[clean] = key
		for _, end := range endings(clean) {
			if _, taken := m.ending[end]; taken {
				m.ending[end] = ""
			} else {
				m.ending[end] = key
			}
		}
	}
	return m
}

// endings are a path and its last segments, the longest first.
func endings(clean string) (all []string) {
	for end, more := clean, true; more; _, end, more = strings.Cut(end, "/") {
		all = append(all, end)
	}
	return all
}

// times returns the milliseconds of the names that are known. The names are sorted. A time that several names could have by the end of
// their paths is shared by them, unless it is exactly the path of one.
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

// similar returns the key whose path ends with the path of the name, or the reverse: runners write paths below a folder of theirs, or
// absolute ones. It returns "" if several fit equally well.
func (m *matcher) similar(name string) string {
	name = path.Clean(name)
	if key, known := m.ending[name]; known {
		return key
	}
	for _, end := range endings(name) {
		if key, known := m.exact[end]; known {
			return key
		}
	}
	return ""
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
