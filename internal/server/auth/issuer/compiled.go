package issuer

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/trust"
	"github.com/postflight-dev/postflight/internal/fairness"
)

const maxCompiledOfNamespace = 256 // four times what a request evaluates

// compiledPolicies keeps policies compiled, which takes a thousand times as long as comparing one with a token.
type compiledPolicies struct {
	once  sync.Once
	byUID *fairness.Cache[types.UID, compiledPolicy]
}

type compiledPolicy struct {
	generation int64
	policy     *trust.Policy
	err        error
}

// get is trust.Compile.
func (c *compiledPolicies) get(p *v1alpha1.TrustPolicy) (*trust.Policy, error) {
	c.once.Do(func() { c.byUID = fairness.NewCache[types.UID, compiledPolicy](maxCompiled, maxCompiledOfNamespace) })
	known, ok := c.byUID.Get(p.Namespace, p.UID)
	if ok && known.generation == p.Generation {
		return known.policy, known.err
	}
	policy, err := trust.Compile(p)
	c.byUID.Add(p.Namespace, p.UID, compiledPolicy{p.Generation, policy, err})
	return policy, err
}
