package replicas

import (
	"sync"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestRotation follows "Rotate a key" of docs/teams.md while every replica gets notifications: none is refused.
func TestRotation(t *testing.T) {
	s := apiserver.Alone(t)
	tm := newTeam(t, s)
	all := replicas(t, s, kubeconfigOf(t, s.Manager(t)), processes)
	tm.awaitKnown(all)
	awaitStatus := func(key string, status int) {
		t.Helper()
		for _, r := range all {
			poll.True(t, "the answer to a key that is being replaced", func() bool {
				a, err := notify(t.Context(), r.URL, key, `{"sha":"rotation"}`)
				return err == nil && a.Status == status
			})
		}
	}
	p := &rotation{key: tm.key, over: make(chan struct{})}
	for _, r := range all {
		p.running.Go(func() { p.send(t, r) })
	}

	next := apikey.New(tm.namespace)
	tm.create(tm.apiKey("ci-2", next))
	awaitStatus(next, 200)
	p.use(next)
	old := tm.apiKey("ci", tm.key)
	tm.update(old, func() { old.Spec.Suspended = true })
	awaitStatus(tm.key, 401)
	tm.update(old, func() { old.Spec.Suspended = false })
	awaitStatus(tm.key, 200)
	tm.remove(old)
	awaitStatus(tm.key, 401)

	close(p.over)
	p.running.Wait()
	t.Logf("ROTATION notifications=%d refused=%d", len(p.counts.times), p.counts.errors)
	if p.counts.errors > 0 || p.counts.failed > 0 || len(p.counts.times) == 0 {
		t.Errorf("%s; e.g. %s", &p.counts, p.counts.first)
	}
}

// rotation is pipelines that send notifications with the key of the secrets of CI, which somebody replaces meanwhile.
type rotation struct {
	counts  counts
	running sync.WaitGroup
	over    chan struct{}
	mu      sync.RWMutex // is read-locked during a request
	key     string
}

func (p *rotation) send(t *testing.T, r *replica) {
	for {
		select {
		case <-p.over:
			return
		default:
			p.mu.RLock()
			p.counts.add(notify(t.Context(), r.URL, p.key, `{"sha":"rotation"}`))
			p.mu.RUnlock()
		}
	}
}

// use replaces the key when no request with the other one is on its way.
func (p *rotation) use(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key = key
}
