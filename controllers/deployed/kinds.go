package deployed

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
)

// kinds are those of the cluster. Every look is at all of them: two requests, however many unknown kinds Environments name.
type kinds struct {
	cluster discovery.DiscoveryInterfaceWithContext
	clock   clock.PassiveClock

	looking sync.Mutex // during the requests: who asks for a kind that is known need not wait

	mu     sync.RWMutex
	last   time.Time // of a look; zero: there was none
	known  map[schema.GroupVersionKind]resource
	failed map[schema.GroupVersion]error // whose kinds could not be read
	err    error                         // why none could be read
}

type resource struct {
	schema.GroupVersionResource
	namespaced bool
}

const (
	// lookEvery is the least pause between looks. It is less than retryEvery, so that each retry of an Environment may look again.
	lookEvery = 10 * time.Second

	// lookRetry is the same after a failure.
	lookRetry = time.Second

	// lookTimeout is for an API server, or a server of its extensions, that hangs.
	lookTimeout = 5 * time.Second
)

// find returns the resource of a source, or why there is none, as a sentence.
func (k *kinds) find(ctx context.Context, s workloads.Source) (r schema.GroupVersionResource, problem string, err error) {
	if k.mustLook(s) {
		k.look(ctx)
	}
	return k.get(s)
}

// findSoon is find without waiting for the cluster. Until the cluster has answered, it returns errStarting.
func (k *kinds) findSoon(ctx context.Context, s workloads.Source) (r schema.GroupVersionResource, problem string, err error) {
	if k.hasLooked() && !k.mustLook(s) {
		return k.get(s)
	}
	if ctx != nil && k.looking.TryLock() {
		k.looking.Unlock()
		go k.look(ctx)
	}
	return r, "", errStarting
}

// hasLooked is false until the cluster has answered.
func (k *kinds) hasLooked() bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.known != nil
}

// mustLook reports whether nothing is known of the kind.
func (k *kinds) mustLook(s workloads.Source) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, found := k.known[s.GroupVersionKind]
	return !found && !k.fresh()
}

func (k *kinds) get(s workloads.Source) (r schema.GroupVersionResource, problem string, err error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	kind, found := k.known[s.GroupVersionKind]
	if !found {
		err = errors.Join(k.err, k.failed[s.GroupVersion()])
	}
	switch {
	case found && !kind.namespaced:
		return r, workloads.NotNamespaced(s, string(meta.RESTScopeNameRoot)), nil
	case found:
		return kind.GroupVersionResource, "", nil
	case err != nil:
		return r, "", err
	default:
		return r, workloads.NoKind(s), nil
	}
}

func (k *kinds) fresh() bool {
	pause := lookEvery
	if k.err != nil {
		pause = lookRetry
	}
	return !k.last.IsZero() && k.clock.Since(k.last) < pause
}

// look asks the cluster for its kinds, unless the last answer is fresh.
func (k *kinds) look(ctx context.Context) {
	k.looking.Lock()
	defer k.looking.Unlock()
	k.mu.RLock()
	fresh := k.fresh()
	k.mu.RUnlock()
	if fresh {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout) // the answer is for others, too
	defer cancel()
	_, lists, err := k.cluster.ServerGroupsAndResourcesWithContext(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last, k.err, k.failed = k.clock.Now(), nil, nil
	if partly, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); ok {
		k.failed = partly.Groups
	} else if err != nil {
		k.err = err
		return
	}
	k.keep(lists)
}

// keep leaves the kinds of groups that could not be read as they were.
func (k *kinds) keep(lists []*metav1.APIResourceList) {
	known := map[schema.GroupVersionKind]resource{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // no Environment can name it
		}
		for _, r := range list.APIResources {
			if subresource := strings.Contains(r.Name, "/"); !subresource {
				known[version.WithKind(r.Kind)] = resource{version.WithResource(r.Name), r.Namespaced}
			}
		}
	}
	for kind, old := range k.known {
		if _, failed := k.failed[kind.GroupVersion()]; failed {
			known[kind] = old
		}
	}
	k.known = known
}
