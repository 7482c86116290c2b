package issuer

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/trust"
)

// compiledPolicies keeps policies compiled, which takes a thousand times as long as comparing one with a token.
type compiledPolicies struct {
	mu    sync.Mutex
	byUID map[types.UID]compiledPolicy
}

type compiledPolicy struct {
	generation int64
	policy     *trust.Policy
	err        error
}

// get is trust.Compile.
func (c *compiledPolicies) get(p *v1alpha1.TrustPolicy) (*trust.Policy, error) {
	c.mu.Lock()
	known, ok := c.byUID[p.UID]
	c.mu.Unlock()
	if ok && known.generation == p.Generation {
		return known.policy, known.err
	}
	policy, err := trust.Compile(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byUID == nil || len(c.byUID) >= maxCompiled {
		c.byUID = map[types.UID]compiledPolicy{}
	}
	c.byUID[p.UID] = compiledPolicy{p.Generation, policy, err}
	return policy, err
}
