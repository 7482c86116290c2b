package deployed

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/record"
)

// inventory is what this leader knows to be in the store, of the deployments in the statuses of Environments. Another leader saves them
// again.
type inventory struct {
	mu    sync.Mutex
	saved map[types.NamespacedName]map[deployment]record.Deployment
	gone  map[types.NamespacedName]time.Time // when an Environment was deleted, until the store has that
	queue queue                              // of Environments; nil before feed
}

// deployment identifies one of an Environment.
type deployment struct {
	commit.Commit
	since int64
}

func newInventory() *inventory {
	return &inventory{saved: map[types.NamespacedName]map[deployment]record.Deployment{}, gone: map[types.NamespacedName]time.Time{}}
}

func identity(d record.Deployment) deployment {
	return deployment{commit.New(d.Repository, d.Service, d.SHA), d.Since.Unix()}
}

// has reports whether the store has all of a line.
func (v *inventory) has(environment types.NamespacedName, d record.Deployment) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	saved, found := v.saved[environment][identity(d)]
	return found && saved.Merge(d).Equal(saved)
}

func (v *inventory) put(environment types.NamespacedName, d record.Deployment) {
	v.mu.Lock()
	defer v.mu.Unlock()
	own := v.saved[environment]
	if own == nil {
		own = map[deployment]record.Deployment{}
		v.saved[environment] = own
	}
	if saved, found := own[identity(d)]; found {
		d = saved.Merge(d)
	}
	own[identity(d)] = d
}

// keep forgets what the status does not have any more.
func (v *inventory) keep(environment types.NamespacedName, all []record.Deployment) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.gone, environment) // another one has its name
	left := map[deployment]bool{}
	for _, d := range all {
		left[identity(d)] = true
	}
	for d := range v.saved[environment] {
		if !left[d] {
			delete(v.saved[environment], d)
		}
	}
}

// ended returns when an Environment was first seen to be gone.
func (v *inventory) ended(environment types.NamespacedName, now time.Time) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.saved, environment)
	if _, known := v.gone[environment]; !known {
		v.gone[environment] = now
	}
	return v.gone[environment]
}

func (v *inventory) forget(environment types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.saved, environment)
	delete(v.gone, environment)
}

// archived reports whether the store has a deployment that is over.
func (v *inventory) archived(environment types.NamespacedName) func(v1alpha1.EarlierDeployment) bool {
	return func(e v1alpha1.EarlierDeployment) bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		_, found := v.saved[environment][deployment{commit.New(e.Repository, e.Service, e.SHA), e.Since.Unix()}]
		return found
	}
}

// feed is a source of requests. A nil inventory makes none.
func (v *inventory) feed(_ context.Context, q queue) error {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.queue = q
	return nil
}

// caughtUp lets the Reconciler remove what the store has from the status.
func (v *inventory) caughtUp(req ctrl.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.queue != nil {
		v.queue.Add(req)
	}
}
