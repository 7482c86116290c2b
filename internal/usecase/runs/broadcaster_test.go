package runs

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/test/poll"
)

// TestBroadcasterLosesNothing: if a change were lost, a subscriber would hang.
func TestBroadcasterLosesNothing(t *testing.T) {
	const rounds, waiters = 300, 8
	b := newBroadcaster()
	run := types.NamespacedName{Namespace: "acme", Name: "a"}
	var version atomic.Int64
	var done sync.WaitGroup
	for range waiters {
		done.Go(func() {
			for seen := int64(0); seen < rounds; {
				changed, unsubscribe := b.Subscribe(run)
				if now := version.Load(); now > seen {
					seen = now
					unsubscribe()
					continue
				}
				select {
				case <-changed:
				case <-time.After(poll.Limit):
					t.Error("a waiter missed a change")
					unsubscribe()
					return
				}
				unsubscribe()
			}
		})
	}
	for range rounds {
		version.Add(1)
		b.Publish(run)
	}
	done.Wait()
	if len(b.subscriptions) != 0 {
		t.Errorf("%d subscriptions are left", len(b.subscriptions))
	}
}

func TestPublishWakesTheSubscribersOfTheRun(t *testing.T) {
	runs := newBroadcaster()
	a, unsubscribeA := runs.Subscribe(types.NamespacedName{Name: "a"})
	b, unsubscribeB := runs.Subscribe(types.NamespacedName{Name: "b"})
	defer unsubscribeB()
	runs.Publish(types.NamespacedName{Name: "a"})
	runs.Publish(types.NamespacedName{Name: "c"})
	select {
	case <-a:
	default:
		t.Error("a was not woken")
	}
	select {
	case <-b:
		t.Error("b was woken by a change of a")
	default:
	}
	again, unsubscribeAgain := runs.Subscribe(types.NamespacedName{Name: "a"})
	unsubscribeA() // of the subscription before: must not end the new one
	runs.Publish(types.NamespacedName{Name: "a"})
	select {
	case <-again:
	default:
		t.Error("a subscriber after the change missed the next")
	}
	unsubscribeAgain()
}
