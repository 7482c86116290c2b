package deployed

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
)

// ledger is what this leader knows to be in the store, of what the statuses of Environments have. Another one saves it again.
type ledger struct {
	mu    sync.Mutex
	saved map[types.NamespacedName]map[deployment]record.Deployment
	gone  map[types.NamespacedName]time.Time // deleted Environments, of which the store does not know it
	queue queue                              // of Environments; nil before feed
}

// deployment identifies one of an Environment.
type deployment struct {
	repository, sha string
	since           int64
}

func newLedger() *ledger {
	return &ledger{saved: map[types.NamespacedName]map[deployment]record.Deployment{}, gone: map[types.NamespacedName]time.Time{}}
}

func identity(d record.Deployment) deployment {
	return deployment{d.Repository, d.SHA, d.Since.Unix()}
}

// has reports whether the store has all of a line.
func (l *ledger) has(environment types.NamespacedName, d record.Deployment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, found := l.saved[environment][identity(d)]
	return found && was.Merge(d).Equal(was)
}

func (l *ledger) put(environment types.NamespacedName, d record.Deployment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.saved[environment]
	if own == nil {
		own = map[deployment]record.Deployment{}
		l.saved[environment] = own
	}
	if was, found := own[identity(d)]; found {
		d = was.Merge(d)
	}
	own[identity(d)] = d
}

// keep forgets what the status does not have any more.
func (l *ledger) keep(environment types.NamespacedName, all []record.Deployment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.gone, environment) // another one has its name
	left := map[deployment]bool{}
	for _, d := range all {
		left[identity(d)] = true
	}
	for d := range l.saved[environment] {
		if !left[d] {
			delete(l.saved[environment], d)
		}
	}
}

// ended returns when an Environment was first seen to be gone.
func (l *ledger) ended(environment types.NamespacedName, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.saved, environment)
	if _, known := l.gone[environment]; !known {
		l.gone[environment] = now
	}
	return l.gone[environment]
}

func (l *ledger) forget(environment types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.saved, environment)
	delete(l.gone, environment)
}

// archived reports whether the store has a deployment that is over.
func (l *ledger) archived(environment types.NamespacedName) func(v1alpha1.EarlierDeployment) bool {
	return func(e v1alpha1.EarlierDeployment) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, found := l.saved[environment][deployment{e.Repository, e.SHA, e.Since.Unix()}]
		return found
	}
}

// feed is a source of requests. A nil ledger makes none.
func (l *ledger) feed(_ context.Context, q queue) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = q
	return nil
}

// caughtUp lets the Reconciler remove what the store has from the status.
func (l *ledger) caughtUp(req ctrl.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue != nil {
		l.queue.Add(req)
	}
}
