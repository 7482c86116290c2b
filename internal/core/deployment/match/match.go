package match

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// Matcher holds the compiled conditions of a Trigger. It is safe for concurrent use.
type Matcher struct {
	criteria []namedCriterion // in the order in which they are explained
	byWeight []criterion      // the same, the cheap ones first
	weight   int              // of all criteria, in units of stopEvery
	pending  *lazyExpression  // nil: there is no expression, or it was compiled from the beginning
}

type namedCriterion struct {
	criterion
	field string
}

// CompileError says which condition of a Trigger is invalid.
type CompileError struct {
	Criterion string // the field, e.g. branches or expression
	Reason    string // what is wrong with it, without a full stop
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("The Trigger matches nothing, because spec.match.%s %s.", e.Criterion, e.Reason)
}

// Compile prepares the conditions of a Trigger, which must not change while the Matcher is in use. Its error is a *CompileError.
func Compile(t *v1alpha1.Trigger) (*Matcher, error) { return compileWith(t, compileExpression) }

func compileWith(t *v1alpha1.Trigger, expression func(*v1alpha1.TriggerSpec) (criterion, error)) (*Matcher, error) {
	m := &Matcher{weight: 1}
	for _, d := range definitions {
		compile := d.compile
		if d.field == expressionField {
			compile = expression
		}
		c, err := recoverPanic(compile, &t.Spec)
		switch {
		case err != nil:
			return nil, &CompileError{Criterion: d.field, Reason: err.Error()}
		case c != nil:
			m.criteria = append(m.criteria, namedCriterion{criterion: c, field: d.field})
			m.byWeight = append(m.byWeight, c)
			m.weight += c.weight()
			if lazy, ok := c.(*lazyExpression); ok {
				m.pending = lazy
			}
		}
	}
	slices.SortStableFunc(m.byWeight, func(a, b criterion) int { return cmp.Compare(a.weight(), b.weight()) })
	return m, nil
}

// recoverPanic turns a panic into an error: a Trigger that hits a bug in a library must not keep managers from starting.
// The text of the panic comes from the Trigger, so its readers may see it.
func recoverPanic(compile func(*v1alpha1.TriggerSpec) (criterion, error), spec *v1alpha1.TriggerSpec) (c criterion, err error) {
	defer func() {
		if p := recover(); p != nil {
			text := oneLine(fmt.Sprint(p))
			text = strings.ToValidUTF8(text[:min(len(text), maxPanicBytes)], "") // the cut may split a character
			err = errors.New("cannot be compiled; write it otherwise (" + text + ")")
		}
	}()
	return compile(spec)
}

// Matches reports whether the Trigger matches the notification.
func (m *Matcher) Matches(n *notification.Notification) bool { return m.matches(newActivation(n)) }

func (m *Matcher) matches(a *activation) bool {
	return !slices.ContainsFunc(m.byWeight, func(c criterion) bool { return !c.holds(a) })
}
