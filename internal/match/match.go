package match

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/notification"
)

// Matcher is the compiled form of a Trigger's conditions. It is safe for concurrent use.
type Matcher struct {
	criteria []namedCriterion // in the order in which they are explained
	tried    []Criterion      // the same, what is cheap first
	weight   int              // how much of stopEvery it takes to try all
}

// namedCriterion is a criterion that the Trigger gives, and the field that gives it.
type namedCriterion struct {
	Criterion
	field string
}

// CompileError says which condition of a Trigger cannot be used.
type CompileError struct {
	// Criterion is the name of the field at fault, e.g. branches or expression.
	Criterion string
	// Reason says what is wrong with it, without a full stop.
	Reason string
}

// Error is a sentence for the Ready condition of the Trigger.
func (e *CompileError) Error() string {
	return fmt.Sprintf("The Trigger matches nothing, because spec.match.%s %s.", e.Criterion, e.Reason)
}

// Compile prepares the conditions of a Trigger. Its error is a *CompileError. The Trigger must not
// change as long as the Matcher is used.
func Compile(t *v1alpha1.Trigger) (*Matcher, error) {
	m := &Matcher{weight: 1}
	for _, d := range definitions {
		c, err := recoverPanic(d.compile, &t.Spec)
		switch {
		case err != nil:
			return nil, &CompileError{Criterion: d.field, Reason: err.Error()}
		case c != nil:
			m.criteria = append(m.criteria, namedCriterion{Criterion: c, field: d.field})
			m.tried = append(m.tried, c)
			m.weight += c.Weight()
		}
	}
	slices.SortStableFunc(m.tried, func(a, b Criterion) int { return cmp.Compare(a.Weight(), b.Weight()) })
	return m, nil
}

// recoverPanic makes an error of a panic. Triggers are compiled wherever a manager learns of them, as it
// does of all when it starts: one that meets a bug of a library would otherwise keep every manager from
// starting. The text of a panic comes from the Trigger, so whoever reads the Trigger may read it.
func recoverPanic(compile func(*v1alpha1.TriggerSpec) (Criterion, error), spec *v1alpha1.TriggerSpec) (c Criterion, err error) {
	defer func() {
		if p := recover(); p != nil {
			text := oneLine(fmt.Sprint(p))
			text = strings.ToValidUTF8(text[:min(len(text), maxPanicBytes)], "") // also where a character was cut
			err = errors.New("cannot be compiled; write it otherwise (" + text + ")")
		}
	}()
	return compile(spec)
}

// Matches reports whether the Trigger wants the notification.
func (m *Matcher) Matches(n *notification.Notification) bool {
	return m.matches(newActivation(n))
}

func (m *Matcher) matches(a *activation) bool {
	for _, c := range m.tried {
		if !c.Holds(a) {
			return false
		}
	}
	return true
}
