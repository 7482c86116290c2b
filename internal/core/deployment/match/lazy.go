package match

import (
	"sync"
	"sync/atomic"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// lazyExpression is compiled when it is first needed. The largest takes 20 ms, so a thousand would delay the start of a replica by 20 s.
type lazyExpression struct {
	spec *v1alpha1.TriggerSpec
	once sync.Once
	done atomic.Bool

	compiled criterion // nil: it is invalid
	problem  error     // a *CompileError
}

// prepare is Compile without the expression. The Matcher matches nothing if that turns out to be invalid.
func prepare(t *v1alpha1.Trigger) (*Matcher, error) {
	return compileWith(t, func(spec *v1alpha1.TriggerSpec) (criterion, error) {
		if spec.Match.Expression == "" {
			return nil, nil
		}
		return &lazyExpression{spec: spec}, nil
	})
}

func (l *lazyExpression) compile() criterion {
	l.once.Do(func() {
		c, err := recoverPanic(compileExpression, l.spec)
		if err != nil {
			l.problem = &CompileError{Criterion: expressionField, Reason: err.Error()}
		} else {
			l.compiled = c
		}
		l.spec = nil
		l.done.Store(true)
	})
	return l.compiled
}

func (l *lazyExpression) holds(a *activation) bool {
	c := l.compile()
	return c != nil && c.holds(a)
}

func (l *lazyExpression) explain(a *activation) string {
	if c := l.compile(); c != nil {
		return c.explain(a)
	}
	return l.problem.Error()
}

func (l *lazyExpression) weight() int { return expressionWeight }

// keys are known once it is compiled.
func (l *lazyExpression) keys() [][]bucketKey {
	if l.done.Load() && l.compiled != nil {
		return l.compiled.keys()
	}
	return nil
}

// isPending reports whether the Matcher has an expression that is not compiled.
func (m *Matcher) isPending() bool { return m != nil && m.pending != nil && !m.pending.done.Load() }

// compile compiles the expression, and returns what is wrong with it.
func (m *Matcher) compile() error {
	if m == nil || m.pending == nil {
		return nil
	}
	m.pending.compile()
	return m.pending.problem
}
