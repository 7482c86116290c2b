package auth

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// drain writes what is queued at the moment.
func (u *Usage) drain(ctx context.Context) {
	for len(u.queue) > 0 {
		u.writeOrLog(ctx, <-u.queue)
	}
}

func TestUsage(t *testing.T) {
	used := func(at time.Time) func(*v1alpha1.APIKey) {
		return func(k *v1alpha1.APIKey) { k.Status.LastUsedTime = &metav1.Time{Time: at} }
	}
	steps := func(d ...time.Duration) []time.Duration { return d }
	cases := map[string]struct {
		reason string
		key    *v1alpha1.APIKey
		seen   []time.Duration // after noon
		fail   int32           // writes that fail
		writes int32
		last   time.Time
	}{
		"first use": {key: key("acme", "ci", "x"), seen: steps(0), writes: 1, last: noon},
		"used a moment ago": {key: key("acme", "ci", "x", used(noon.Add(-9*time.Minute))), seen: steps(0), writes: 0,
			last: noon.Add(-9 * time.Minute)},
		"used ten minutes ago": {key: key("acme", "ci", "x", used(noon.Add(-10*time.Minute))), seen: steps(0), writes: 1, last: noon},
		"used a lot": {reason: "the cache may lag behind the write", key: key("acme", "ci", "x"),
			seen: steps(0, 1, time.Minute, 9*time.Minute), writes: 1, last: noon},
		"used for long": {key: key("acme", "ci", "x"), seen: steps(0, 10*time.Minute, 15*time.Minute, 20*time.Minute), writes: 3,
			last: noon.Add(20 * time.Minute)},
		"the write fails": {reason: "there is a pause of a minute", key: key("acme", "ci", "x"),
			seen: steps(0, time.Second, time.Minute), fail: 1, writes: 2, last: noon.Add(time.Minute)},
		"written by another replica": {reason: "whose clock is ahead", key: key("acme", "ci", "x", used(noon.Add(time.Second))), seen: steps(0),
			writes: 0, last: noon.Add(time.Second)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var writes atomic.Int32
			c := cluster(t, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object,
				p client.Patch, opts ...client.SubResourcePatchOption) error {
				if writes.Add(1) <= tc.fail {
					return errors.New("refused")
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			}}, tc.key)
			clock := clocktesting.NewFakePassiveClock(noon)
			u := NewUsage(c, clock)
			for _, after := range tc.seen {
				clock.SetTime(noon.Add(after))
				u.Record(tc.key)
				u.drain(t.Context())
			}
			var got v1alpha1.APIKey
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(tc.key), &got); err != nil {
				t.Fatal(err)
			}
			if writes.Load() != tc.writes || !got.Status.LastUsedTime.Time.Equal(tc.last) {
				t.Errorf("%s: %d writes, last used %v; want %d, %s", tc.reason, writes.Load(), got.Status.LastUsedTime, tc.writes, tc.last)
			}
		})
	}
}

// TestUsageNeverBlocks records more keys than the queue holds while no writer runs.
func TestUsageNeverBlocks(t *testing.T) {
	u := NewUsage(cluster(t, interceptor.Funcs{}), clocktesting.NewFakePassiveClock(noon))
	for i := range 2 * usageQueue {
		k := key("acme", "ci", "x")
		k.UID = types.UID(strconv.Itoa(i))
		u.Record(k)
	}
	if len(u.queue) != usageQueue {
		t.Errorf("%d keys wait, want the queue to be full at %d", len(u.queue), usageQueue)
	}
	late := key("acme", "ci", "x")
	late.UID = types.UID(strconv.Itoa(2*usageQueue - 1)) // which found the queue full
	<-u.queue
	if u.Record(late); len(u.queue) != usageQueue {
		t.Error("a key that found the queue full is not written after a later request")
	}
}

func TestUsageStops(t *testing.T) {
	u := NewUsage(cluster(t, interceptor.Funcs{}, key("acme", "ci", "x")), clocktesting.NewFakePassiveClock(noon))
	u.Record(key("acme", "gone", "y")) // a key that was deleted meanwhile is no error
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- u.Start(ctx) }()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
