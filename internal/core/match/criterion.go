package match

import "github.com/postflight-dev/postflight/api/v1alpha1"

// criterion is a compiled condition of a Trigger. It is safe for concurrent use.
type criterion interface {
	// holds reports whether the notification meets the criterion.
	holds(*activation) bool
	// explain says in a sentence why the criterion holds, or why not.
	explain(*activation) string
	// weight is how much work it is to try the criterion; see stopEvery.
	weight() int
	// keys are choices of buckets for the index: every notification that meets the criterion has one of
	// the keys of each choice. Without a choice, the criterion does not narrow the search.
	keys() [][]bucketKey
}

// simple is embedded by criteria that are cheap, and by those without keys.
type simple struct{}

func (simple) weight() int         { return 0 }
func (simple) keys() [][]bucketKey { return nil }

// definitions are all criteria by their field in spec.match, in the order in which they are explained.
// compile returns nil if the Trigger does not set the field. Its error continues the sentence
// "spec.match.<field> ...".
var definitions = []struct {
	field   string
	compile func(*v1alpha1.TriggerSpec) (criterion, error)
}{
	{"paused", compilePaused},
	{"branches", compileBranches},
	{"deploymentTypes", compileDeploymentTypes},
	{"repositories", compileRepositories},
	{"pullRequest", compilePullRequest},
	{"expression", compileExpression},
}
