package trigger

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

// problems remember what is wrong with the conditions of Triggers. To find out may take 20 ms, and each run of a Trigger changes its counts.
type problems struct {
	mu    sync.Mutex
	known map[types.NamespacedName]problem
}

type problem struct {
	uid        types.UID
	generation int64
	message    string
}

func (p *problems) of(t *v1alpha1.Trigger) string {
	name := types.NamespacedName{Namespace: t.Namespace, Name: t.Name}
	p.mu.Lock()
	is := p.known[name]
	p.mu.Unlock()
	if is.uid == t.UID && is.generation == t.Generation && t.Generation != 0 {
		return is.message
	}
	is = problem{uid: t.UID, generation: t.Generation}
	if _, err := match.Compile(t); err != nil {
		is.message = err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[types.NamespacedName]problem{}
	}
	p.known[name] = is
	return is.message
}

func (p *problems) forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, name)
}
