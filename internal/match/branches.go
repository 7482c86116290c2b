package match

import (
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/notification"
)

// branchGlobs are the globs of a Trigger: those of which one must match, and those that must not.
type branchGlobs struct {
	include, exclude globs
	// alternatives bounds how many globs they are with their braces expanded.
	alternatives int
}

func compileBranches(spec *v1alpha1.TriggerSpec) (Criterion, error) {
	if len(spec.Match.Branches) == 0 {
		return nil, nil
	}
	b := &branchGlobs{}
	expanded := 0.0
	for _, written := range spec.Match.Branches {
		pattern, excluded := strings.CutPrefix(written, "!")
		pattern = notification.BranchName(pattern)
		if reason := checkGlob(pattern); reason != "" {
			return nil, fmt.Errorf("holds %q, which %s", written, reason)
		}
		if expanded += alternatives(pattern); expanded > maxAlternatives {
			return nil, fmt.Errorf("expands to more than %d globs; use fewer braces", maxAlternatives)
		}
		if excluded {
			b.exclude = append(b.exclude, newGlob(pattern))
		} else {
			b.include = append(b.include, newGlob(pattern))
		}
	}
	b.alternatives = int(expanded)
	return b, nil
}

func checkGlob(glob string) string {
	switch {
	case glob == "":
		return "names no branch"
	case !doublestar.ValidatePattern(glob):
		return "is not a valid glob: close every [ and {, and let a character follow every backslash"
	}
	return ""
}

// alternatives is an upper bound of how many globs without braces a glob stands for. With as many
// braces and commas, no arrangement makes more than commas spread evenly.
func alternatives(glob string) float64 {
	braces, commas := float64(strings.Count(glob, "{")), float64(strings.Count(glob, ","))
	if braces == 0 {
		return 1
	}
	return math.Pow((commas+braces)/braces, braces)
}

// Holds implements Criterion. An absent branch is not wanted.
func (b *branchGlobs) Holds(a *activation) bool {
	if a.branch == "" || len(b.include) > 0 && b.include.matching(a.branch) == nil {
		return false
	}
	return b.exclude.matching(a.branch) == nil
}

// Explain implements Criterion.
func (b *branchGlobs) Explain(a *activation) string {
	included, excluded := b.include.matching(a.branch), b.exclude.matching(a.branch)
	switch {
	case a.branch == "":
		return "The notification names no branch, and the Trigger asks for one."
	case included == nil && len(b.include) > 0:
		return fmt.Sprintf("The branch %s matches none of %s.", quote(a.branch), list(b.include.patterns())) + b.include.nearMiss(a.branch)
	case excluded != nil:
		return fmt.Sprintf("The branch %s is excluded by %s.", quote(a.branch), quote("!"+excluded.pattern))
	case included != nil:
		return fmt.Sprintf("The branch %s matches %s.", quote(a.branch), quote(included.pattern))
	default:
		return fmt.Sprintf("The branch %s is none of the excluded ones.", quote(a.branch))
	}
}

// Weight implements Criterion.
func (b *branchGlobs) Weight() int { return b.alternatives }

// Keys implements Criterion. There are some only where the first segment of every branch is known.
func (b *branchGlobs) Keys() [][]bucketKey {
	var keys []bucketKey
	for _, g := range b.include {
		switch segment, known := g.root(); {
		case g.literal:
			keys = append(keys, bucketKey{field: branchKey, value: g.pattern})
		case known:
			keys = append(keys, bucketKey{field: branchRootKey, value: segment})
		default:
			return nil
		}
	}
	if keys == nil {
		return nil
	}
	return [][]bucketKey{keys}
}

type globs []glob

// matching is the first of the globs that matches, or nil.
func (g globs) matching(branch string) *glob {
	for i := range g {
		if g[i].match(branch) {
			return &g[i]
		}
	}
	return nil
}

// nearMiss explains a glob that almost matches; it is empty if none does.
func (g globs) nearMiss(branch string) string {
	for _, glob := range g {
		deeper, lower := newGlob(glob.pattern+"*"), newGlob(strings.ToLower(glob.pattern))
		switch {
		case path.Base(glob.pattern) == "*" && deeper.match(branch):
			return fmt.Sprintf(` "*" stops at "/": %s would match.`, quote(deeper.pattern))
		case lower.match(strings.ToLower(branch)):
			return fmt.Sprintf(" Case matters: did you mean %s?", quote(glob.pattern))
		}
	}
	return ""
}

func (g globs) patterns() []string {
	patterns := make([]string, 0, len(g))
	for i := range g {
		patterns = append(patterns, g[i].pattern)
	}
	return patterns
}

// glob is a pattern with what rules out most branches at once: the text it starts and ends with.
type glob struct {
	pattern        string
	literal        bool
	prefix, suffix string
}

// wildcards are the characters with a meaning; a pattern without any stands for itself only.
const wildcards = `*?[]{}\`

func newGlob(pattern string) glob {
	first, last := strings.IndexAny(pattern, wildcards), strings.LastIndexAny(pattern, wildcards)
	if first < 0 {
		return glob{pattern: pattern, literal: true}
	}
	// The slash next to a ** may stand for nothing: a/** matches a, and **/a does too.
	return glob{
		pattern: pattern,
		prefix:  strings.TrimSuffix(pattern[:first], "/"),
		suffix:  strings.TrimPrefix(pattern[last+1:], "/"),
	}
}

func (g *glob) match(branch string) bool {
	if g.literal {
		return g.pattern == branch
	}
	return strings.HasPrefix(branch, g.prefix) && strings.HasSuffix(branch, g.suffix) && doublestar.MatchUnvalidated(g.pattern, branch)
}

// root is the first segment of the branches that match: what is before the first slash. It is not
// known where a wildcard comes first.
func (g *glob) root() (segment string, known bool) {
	segment = root(g.pattern)
	return segment, !strings.ContainsAny(segment, wildcards)
}

func root(branch string) string {
	first, _, _ := strings.Cut(branch, "/")
	return first
}
