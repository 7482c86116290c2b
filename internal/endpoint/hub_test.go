package endpoint

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Who joins, then reads, then waits, sees every change: were one lost, its waiter would hang here.
func TestHubLosesNothing(t *testing.T) {
	const rounds, waiters = 300, 8
	h := newHub()
	run := types.NamespacedName{Namespace: "acme", Name: "a"}
	var version atomic.Int64
	var done sync.WaitGroup
	for range waiters {
		done.Go(func() {
			for seen := int64(0); seen < rounds; {
				news, leave := h.join(run)
				if now := version.Load(); now > seen {
					seen = now
					leave()
					continue
				}
				select {
				case <-news:
				case <-time.After(20 * time.Second):
					t.Error("a waiter missed the news")
					leave()
					return
				}
				leave()
			}
		})
	}
	for range rounds {
		version.Add(1)
		h.announce(run)
	}
	done.Wait()
	if len(h.topics) != 0 {
		t.Errorf("%d topics are left", len(h.topics))
	}
}

func TestHubWakesOnlyWhoWaitsForTheRun(t *testing.T) {
	h := newHub()
	a, leaveA := h.join(types.NamespacedName{Name: "a"})
	b, leaveB := h.join(types.NamespacedName{Name: "b"})
	defer leaveB()
	h.announce(types.NamespacedName{Name: "a"})
	h.announce(types.NamespacedName{Name: "c"})
	select {
	case <-a:
	default:
		t.Error("a was not woken")
	}
	select {
	case <-b:
		t.Error("b was woken by news of a")
	default:
	}
	again, leaveAgain := h.join(types.NamespacedName{Name: "a"})
	leaveA() // of the topic before: must not take the new one along
	h.announce(types.NamespacedName{Name: "a"})
	select {
	case <-again:
	default:
		t.Error("who joined after the news missed the next")
	}
	leaveAgain()
}
