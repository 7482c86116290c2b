package deployed

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// recentFor outlasts the way from a rollout to the Job of its run.
const recentFor = 2 * time.Second

// recentDigests are those that the Reconciler has just read of the pods of objects. They are known of a version of an object: its
// controller changes its status when pods come and go.
type recentDigests struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	byObject map[types.UID]recentDigest
}

type recentDigest struct {
	version string
	digests []v1alpha1.ImageDigest
	at      time.Time
}

// newRecentDigests uses the steady clock of the process.
func newRecentDigests() *recentDigests {
	return &recentDigests{clock: clock.RealClock{}, byObject: map[types.UID]recentDigest{}}
}

// put keeps a copy of digests that were read after the object. It keeps none that are empty: with them, images would not be compared.
func (r *recentDigests) put(o *unstructured.Unstructured, digests []v1alpha1.ImageDigest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire()
	if len(digests) > 0 {
		r.byObject[o.GetUID()] = recentDigest{o.GetResourceVersion(), slices.Clone(digests), r.clock.Now()}
	}
}

// get returns the digests of an object that has not changed since they were read.
func (r *recentDigests) get(o *unstructured.Unstructured) (digests []v1alpha1.ImageDigest, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire()
	kept, found := r.byObject[o.GetUID()]
	return kept.digests, found && o.GetResourceVersion() == kept.version
}

func (r *recentDigests) expire() {
	maps.DeleteFunc(r.byObject, func(_ types.UID, kept recentDigest) bool { return r.clock.Since(kept.at) >= recentFor })
}
