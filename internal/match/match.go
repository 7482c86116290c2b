package match

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/notification"
)

// Names of conditions: the fields of the API that give them.
const (
	branchesCondition        = "branches"
	deploymentTypesCondition = "deploymentTypes"
	repositoriesCondition    = "repositories"
	expressionCondition      = "expression"
	pausedCondition          = "paused"
)

// Matcher is the compiled form of a Trigger's conditions. It is safe for concurrent use.
type Matcher struct {
	paused          bool
	branches        *branchGlobs
	deploymentTypes []string
	repositories    []string
	expression      *expression
	weight          int // how much it may cost to try it: see stopEvery
}

// CompileError says which condition of a Trigger cannot be used.
type CompileError struct {
	// Condition is the name of the field at fault, branches or expression.
	Condition string
	// Reason says what is wrong with it, without a full stop.
	Reason string
}

// Error is a sentence for the Ready condition of the Trigger.
func (e *CompileError) Error() string {
	return fmt.Sprintf("The Trigger matches nothing, because spec.match.%s %s.", e.Condition, e.Reason)
}

// Compile prepares the conditions of a Trigger. Its error is a *CompileError. The Trigger must not
// change as long as the Matcher is used.
func Compile(t *v1alpha1.Trigger) (*Matcher, error) {
	spec := &t.Spec
	m := &Matcher{
		paused:          spec.Paused,
		deploymentTypes: spec.Match.DeploymentTypes,
		repositories:    spec.Match.Repositories,
	}
	var err error
	if m.branches, err = guarded(branchesCondition, compileBranches, spec.Match.Branches); err != nil {
		return nil, err
	}
	if m.expression, err = guarded(expressionCondition, compileExpression, spec.Match.Expression); err != nil {
		return nil, err
	}
	m.weight = m.weigh()
	return m, nil
}

// guarded makes an error of a panic. Triggers are compiled wherever a manager learns of them, as it does
// of all when it starts: one that meets a bug of a library would otherwise keep every manager from
// starting. What a panic says comes from the Trigger, and may be told to whoever reads that.
func guarded[Source, Compiled any](condition string, compile func(Source) (Compiled, error), source Source) (compiled Compiled, err error) {
	defer func() {
		if p := recover(); p != nil {
			said := oneLine(fmt.Sprint(p))
			said = strings.ToValidUTF8(said[:min(len(said), maxPanicBytes)], "") // also where a character was cut
			err = &CompileError{Condition: condition, Reason: fmt.Sprintf("cannot be compiled; write it otherwise (%s)", said)}
		}
	}()
	return compile(source)
}

func (m *Matcher) weigh() int {
	weight := 1
	if m.branches != nil {
		weight += m.branches.alternatives
	}
	if m.expression != nil {
		weight += expressionWeight
	}
	return weight
}

// Matches reports whether the Trigger wants the notification.
func (m *Matcher) Matches(n *notification.Notification) bool {
	return m.matches(newSubject(n))
}

// matches tries what is cheap first.
func (m *Matcher) matches(s *subject) bool {
	return !m.paused &&
		isAnyOf(s.DeploymentType, m.deploymentTypes) &&
		isAnyOf(s.Repository, m.repositories) &&
		(m.branches == nil || m.branches.match(s.branch)) &&
		(m.expression == nil || m.expression.mayHold(s) && m.expression.holds(s) == nil)
}

// isAnyOf holds where nothing is wanted; an absent value is none of those wanted.
func isAnyOf(value string, wanted []string) bool {
	return len(wanted) == 0 || value != "" && slices.Contains(wanted, value)
}
