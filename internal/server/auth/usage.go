package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

const (
	// usageEvery is the precision of status.lastUsedTime: a write per request would cost more than the request.
	usageEvery = 10 * time.Minute
	usageRetry = time.Minute // the pause after a failed write of an object
	usageQueue = 1024        // bounds the objects that wait for their write. If it is full, a later request causes the write.

	usageTimeout = 10 * time.Second
	usageOwner   = "postflight-last-used"
)

// Usage writes when keys and sources of events were last used, without delaying requests. It runs in every replica.
type Usage struct {
	writer client.Client
	clock  clock.PassiveClock
	queue  chan use

	mu   sync.Mutex
	next map[types.UID]time.Time // when the object may be written again
}

type use struct {
	object client.Object // only its name
	uid    types.UID
	field  string // of the status
	at     time.Time
}

// NewUsage returns a Usage that writes with the client.
func NewUsage(writer client.Client, clock clock.PassiveClock) *Usage {
	return &Usage{writer: writer, clock: clock, queue: make(chan use, usageQueue), next: map[types.UID]time.Time{}}
}

// Record queues the write of a key's use. It never blocks.
func (u *Usage) Record(key *v1alpha1.APIKey) {
	named := &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	u.record(key.Status.LastUsedTime, use{object: named, uid: key.UID, field: "lastUsedTime"})
}

// RecordEvent queues the write that a source has sent an event. It never blocks.
func (u *Usage) RecordEvent(source *v1alpha1.EventSource) {
	named := &v1alpha1.EventSource{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name}}
	u.record(source.Status.LastEventTime, use{object: named, uid: source.UID, field: "lastEventTime"})
}

func (u *Usage) record(last *metav1.Time, entry use) {
	entry.at = u.clock.Now()
	if last != nil && entry.at.Sub(last.Time) < usageEvery || !u.due(entry.uid, entry.at) {
		return
	}
	select {
	case u.queue <- entry:
	default:
		u.postpone(entry.uid, entry.at)
	}
}

// Start writes until ctx is done.
func (u *Usage) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case use := <-u.queue:
			u.writeOrLog(ctx, use)
		}
	}
}

// NeedLeaderElection is false: every replica records its own requests.
func (u *Usage) NeedLeaderElection() bool { return false }

// due reports whether to write the object now, and postpones the next write even if the cache lags.
func (u *Usage) due(uid types.UID, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Before(u.next[uid]) {
		return false
	}
	if len(u.next) >= usageQueue {
		u.forget(now)
	}
	u.next[uid] = now.Add(usageEvery)
	return true
}

// forget drops objects that are due, so that deleted ones do not accumulate.
func (u *Usage) forget(now time.Time) {
	for uid, next := range u.next {
		if !now.Before(next) {
			delete(u.next, uid)
		}
	}
}

func (u *Usage) postpone(uid types.UID, until time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.next[uid] = until
}

// writeOrLog only logs a failure, because a later request causes another write.
func (u *Usage) writeOrLog(ctx context.Context, use use) {
	if err := u.write(ctx, use); apierror.IgnoreNotFound(err) != nil {
		log.FromContext(ctx).Error(err, "the last use was not recorded", "field", use.field, "object", client.ObjectKeyFromObject(use.object))
		u.postpone(use.uid, use.at.Add(usageRetry))
	}
}

// write sets no resource version: if two replicas write at once, either time is right.
func (u *Usage) write(ctx context.Context, use use) error {
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{use.field: metav1.NewTime(use.at)}})
	if err != nil {
		return fmt.Errorf("encode the time: %w", err)
	}
	return u.writer.Status().Patch(ctx, use.object, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(usageOwner))
}
