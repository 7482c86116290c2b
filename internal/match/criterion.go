package match

import "github.com/postflight-dev/postflight/api/v1alpha1"

// Criterion is a condition of a Trigger, compiled. It is safe for concurrent use.
type Criterion interface {
	// Holds reports whether the notification meets the criterion.
	Holds(*activation) bool
	// Explain says in a sentence why the criterion holds, or why not.
	Explain(*activation) string
	// Weight is how much of stopEvery it takes to try the criterion.
	Weight() int
	// Keys are choices of buckets for the index: every notification that meets the criterion names one
	// of the keys of each choice. Without any, all notifications have to be tried.
	Keys() [][]bucketKey
}

// definition is a criterion as the API knows it.
type definition struct {
	// field is its name below spec.match.
	field string
	// compile returns nil where the Trigger does not give the criterion. Its error continues the
	// sentence "spec.match.<field> ...".
	compile func(*v1alpha1.TriggerSpec) (Criterion, error)
}

// definitions are all criteria, in the order in which they are explained.
var definitions = []definition{
	{"paused", compilePaused},
	{"branches", compileBranches},
	{"deploymentTypes", compileDeploymentTypes},
	{"repositories", compileRepositories},
	{"pullRequest", compilePullRequest},
	{"expression", compileExpression},
}
