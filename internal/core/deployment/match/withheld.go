package match

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// Verdict says whether a Trigger matches a notification, although the values of some variables are not known.
type Verdict int

// The verdicts.
const (
	No Verdict = iota
	Yes
	Unknown // it depends on such a value
)

// Judgment is a Verdict and what it depends on.
type Judgment struct {
	Verdict Verdict
	Reads   []string // if it is Unknown, the first variables that were read, sorted
	Problem string   // of No: why the expression has no value, which is no match; or ""
}

// Judge is Matches for a notification that had more variables: only their names are known.
func (m *Matcher) Judge(n *notification.Notification, names []string) Judgment {
	a := newActivation(n)
	a.withheld = newWithheld(names)
	verdict := Yes
	for _, c := range m.byWeight {
		switch v, problem := judge(c, a); v {
		case No:
			return Judgment{Problem: problem}
		case Unknown:
			verdict = Unknown
		}
	}
	if verdict == Yes {
		return Judgment{Verdict: Yes}
	}
	reads := slices.Sorted(maps.Keys(a.withheld.reads))
	return Judgment{Verdict: Unknown, Reads: reads[:min(len(reads), maxListed)]}
}

func verdictOf(holds bool) Verdict {
	if holds {
		return Yes
	}
	return No
}

func judge(c criterion, a *activation) (v Verdict, problem string) {
	e, ok := c.(*expression)
	if !ok {
		return verdictOf(c.holds(a)), ""
	}
	if !e.mayHold(a) {
		return No, ""
	}
	if a.withheld != nil {
		a.withheld.read = false
	}
	value, _, err := e.program.Eval(a)
	undecided := err != nil || types.IsUnknown(value) || e.comparesMaps
	switch {
	case undecided && a.withheld != nil && a.withheld.read:
		return Unknown, ""
	case err != nil:
		return No, oneLine(err.Error())
	}
	return verdictOf(value == types.True), ""
}

// withheld are variables whose values are not known.
type withheld struct {
	names map[string]bool
	reads map[string]bool // those that an expression asked for
	read  bool            // it asked for any, since this was last reset
}

func newWithheld(names []string) *withheld {
	if len(names) == 0 {
		return nil
	}
	w := &withheld{names: map[string]bool{}, reads: map[string]bool{}}
	for _, name := range names {
		w.names[name] = true
	}
	return w
}

func (a *activation) withholds(name string) bool { return a.withheld != nil && a.withheld.names[name] }

func (a *activation) variables() any {
	if a.withheld == nil {
		return a.Variables
	}
	all := make(map[string]string, len(a.Variables)+len(a.withheld.names))
	for name, value := range a.Variables {
		all[name] = value
	}
	for name := range a.withheld.names {
		all[name] = ""
	}
	return &partialMap{Mapper: types.NewStringStringMap(types.DefaultTypeAdapter, all), withheld: a.withheld}
}

// partialMap has all names. CEL calculates with the unknown values: "or" with something true is true, and so on.
type partialMap struct {
	traits.Mapper
	withheld *withheld
}

func (m *partialMap) Find(key ref.Val) (ref.Val, bool) {
	value, found := m.Mapper.Find(key)
	name, _ := key.(types.String)
	if found && m.withheld.names[string(name)] {
		m.withheld.read, m.withheld.reads[string(name)] = true, true
		return types.NewUnknown(0, nil), true
	}
	return value, found
}

func (m *partialMap) Get(key ref.Val) ref.Val {
	if value, found := m.Find(key); found {
		return value
	}
	return m.Mapper.Get(key)
}

func (m *partialMap) Equal(ref.Val) ref.Val {
	m.withheld.read, m.withheld.reads = true, m.withheld.names
	return types.NewUnknown(0, nil)
}

// comparesMaps reports whether an expression compares whole maps, in which CEL takes an unknown value for an equal one.
func comparesMaps(a *ast.AST) bool {
	return len(ast.MatchDescendants(ast.NavigateAST(a), func(e ast.NavigableExpr) bool {
		if e.Kind() != ast.CallKind {
			return false
		}
		switch e.AsCall().FunctionName() {
		case operators.Equals, operators.NotEquals:
			return a.GetType(e.AsCall().Args()[0].ID()).Kind() == types.MapKind
		}
		return false
	})) > 0
}
