package quarantine

import "strings"

// Matcher finds the rule that names a test. The zero value names none.
type Matcher struct {
	rules    []Rule
	exact    map[string]int // index of the first rule
	patterns []pattern      // in the order of the rules
}

type pattern struct {
	parts []string // of the name, between the '*'
	rule  int
}

// Compile makes the Matcher of rules. Of several that name a test, the first counts, so valid ones have to come first.
func Compile(rules []Rule) Matcher {
	m := Matcher{rules: rules, exact: map[string]int{}}
	for i, r := range rules {
		for _, test := range r.Tests {
			if strings.Contains(test, "*") {
				m.patterns = append(m.patterns, pattern{strings.Split(test, "*"), i})
			} else if _, known := m.exact[test]; !known {
				m.exact[test] = i
			}
		}
	}
	return m
}

// Rules are those that the Matcher was compiled of.
func (m Matcher) Rules() []Rule { return m.rules }

// Find returns the index of the first rule that names a test, or -1.
func (m Matcher) Find(test string) int {
	found, isExact := m.exact[test]
	if !isExact {
		found = -1
	}
	for _, p := range m.patterns {
		if isExact && p.rule >= found {
			break
		}
		if p.matches(test) {
			return p.rule
		}
	}
	return found
}

// matches takes linear time for each part: the leftmost place of a part leaves most for those that follow.
func (p pattern) matches(name string) bool {
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}
