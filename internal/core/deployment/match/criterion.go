package match

import "github.com/postflight-dev/postflight/api/v1alpha1"

// criterion is a compiled condition of a Trigger. It is safe for concurrent use.
type criterion interface {
	holds(*activation) bool
	explain(*activation) string // a sentence that says why the criterion holds, or why not
	weight() int                // how much work it is to try the criterion; see stopEvery
	// keys are choices of buckets: every notification that meets the criterion has one of the keys of each choice.
	keys() [][]bucketKey
}

// simple is embedded by criteria that are cheap, and by those without keys.
type simple struct{}

func (simple) weight() int         { return 0 }
func (simple) keys() [][]bucketKey { return nil }

// definitions are in the order in which they are explained. The function compile returns nil if the Trigger does not set the field; its
// error continues the sentence "spec.match.<field> ...".
var definitions = []struct {
	field   string
	compile func(*v1alpha1.TriggerSpec) (criterion, error)
}{
	{"paused", compilePaused},
	{"schedule", compileSchedule},
	{"branches", compileBranches},
	{"deploymentTypes", compileDeploymentTypes},
	{"repositories", compileRepositories},
	{"pullRequest", compilePullRequest},
	{expressionField, compileExpression},
}

const expressionField = "expression"
