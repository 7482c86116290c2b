package match

import (
	"errors"
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

type branchGlobs struct {
	include, exclude globs
	alternatives     float64 // an upper bound of the globs without braces
}

func compileBranches(spec *v1alpha1.TriggerSpec) (criterion, error) {
	if len(spec.Match.Branches) == 0 {
		return nil, nil
	}
	b := &branchGlobs{}
	for _, written := range spec.Match.Branches {
		pattern, excluded := strings.CutPrefix(written, "!")
		pattern = notification.BranchName(pattern)
		if err := checkGlob(pattern); err != nil {
			return nil, fmt.Errorf("holds %q, which %w", written, err)
		}
		if b.alternatives += alternatives(pattern); b.alternatives > maxAlternatives {
			return nil, fmt.Errorf("expands to more than %d globs; use fewer braces", maxAlternatives)
		}
		if excluded {
			b.exclude = append(b.exclude, newGlob(pattern))
		} else {
			b.include = append(b.include, newGlob(pattern))
		}
	}
	return b, nil
}

func checkGlob(glob string) error {
	if glob == "" {
		return errors.New("names no branch")
	}
	if !doublestar.ValidatePattern(glob) {
		return errors.New("is not a valid glob: close every [ and {, and let a character follow every backslash")
	}
	return nil
}

// alternatives is an upper bound of the globs without braces that a glob stands for: it is reached if each brace has as many commas.
func alternatives(glob string) float64 {
	braces, commas := float64(strings.Count(glob, "{")), float64(strings.Count(glob, ","))
	if braces == 0 {
		return 1
	}
	return math.Pow((commas+braces)/braces, braces)
}

func (b *branchGlobs) holds(a *activation) bool {
	return a.branch != "" && (len(b.include) == 0 || b.include.find(a.branch) != nil) && b.exclude.find(a.branch) == nil
}

func (b *branchGlobs) explain(a *activation) string {
	included, excluded := b.include.find(a.branch), b.exclude.find(a.branch)
	switch {
	case a.branch == "":
		return "The notification names no branch, and the Trigger asks for one."
	case included == nil && len(b.include) > 0:
		return fmt.Sprintf("The branch %q matches none of %s.", a.branch, list(b.include.patterns())) + b.include.nearMiss(a.branch)
	case excluded != nil:
		return fmt.Sprintf("The branch %q is excluded by %q.", a.branch, "!"+excluded.pattern)
	case included != nil:
		return fmt.Sprintf("The branch %q matches %q.", a.branch, included.pattern)
	default:
		return fmt.Sprintf("The branch %q is none of the excluded ones.", a.branch)
	}
}

func (b *branchGlobs) weight() int { return int(b.alternatives) }

// keys is a choice only if the first segment of every branch to include is known.
func (b *branchGlobs) keys() [][]bucketKey {
	var keys []bucketKey
	for _, g := range b.include {
		segment := root(g.pattern)
		switch {
		case g.literal:
			keys = append(keys, bucketKey{field: branchKey, value: g.pattern})
		case strings.ContainsAny(segment, wildcards):
			return nil
		default:
			keys = append(keys, bucketKey{field: branchRootKey, value: segment})
		}
	}
	if keys == nil {
		return nil
	}
	return [][]bucketKey{keys}
}

func root(branch string) string {
	first, _, _ := strings.Cut(branch, "/")
	return first
}

type globs []glob

func (g globs) find(branch string) *glob {
	for i := range g {
		if g[i].match(branch) {
			return &g[i]
		}
	}
	return nil
}

// nearMiss explains a glob that almost matches, or returns "".
func (g globs) nearMiss(branch string) string {
	for _, glob := range g {
		deeper, lower := newGlob(glob.pattern+"*"), newGlob(strings.ToLower(glob.pattern))
		switch {
		case path.Base(glob.pattern) == "*" && deeper.match(branch):
			return fmt.Sprintf(` "*" stops at "/": %q would match.`, deeper.pattern)
		case lower.match(strings.ToLower(branch)):
			return fmt.Sprintf(" Case matters: did you mean %q?", glob.pattern)
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

// glob is a pattern with the text that it starts and ends with, which rules out most branches cheaply.
type glob struct {
	pattern        string
	literal        bool // has no wildcards
	prefix, suffix string
}

const wildcards = `*?[]{}\`

func newGlob(pattern string) glob {
	first, last := strings.IndexAny(pattern, wildcards), strings.LastIndexAny(pattern, wildcards)
	if first < 0 {
		return glob{pattern: pattern, literal: true}
	}
	// The slash next to a ** may match nothing: a/** matches a, and **/a matches a too.
	return glob{pattern: pattern, prefix: strings.TrimSuffix(pattern[:first], "/"), suffix: strings.TrimPrefix(pattern[last+1:], "/")}
}

func (g *glob) match(branch string) bool {
	if g.literal {
		return g.pattern == branch
	}
	return strings.HasPrefix(branch, g.prefix) && strings.HasSuffix(branch, g.suffix) && doublestar.MatchUnvalidated(g.pattern, branch)
}
