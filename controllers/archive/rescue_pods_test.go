package archive

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// TestRescuedPods: a pod that changes while its logs are saved is looked at again if that may save more, and nothing
// is kept of a pod that is gone.
func TestRescuedPods(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pod        rescuedPod
		again      bool // another attempt may save more
		gone       bool // while it is busy
		wantGoesOn bool
		wantKept   bool
	}{
		"all is saved":                          {pod: rescuedPod{busy: true}, wantKept: true},
		"all is saved, and the pod changed":     {pod: rescuedPod{busy: true, changed: true}, wantKept: true},
		"a log is missing":                      {pod: rescuedPod{busy: true}, again: true},
		"a log is missing, and the pod changed": {pod: rescuedPod{busy: true, changed: true}, again: true, wantGoesOn: true, wantKept: true},
		"all is saved, and the pod is gone":     {pod: rescuedPod{busy: true}, gone: true},
		"a log is missing, and the pod is gone": {pod: rescuedPod{busy: true, changed: true}, again: true, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const uid = types.UID("pod")
			r := &Rescue{pods: map[types.UID]*rescuedPod{uid: &tc.pod}}
			r.forget("", func(types.UID) bool { return tc.gone })
			if r.pods[uid] == nil {
				t.Fatal("it is forgotten while its logs are saved")
			}
			goesOn := r.retries(uid, &tc.pod, tc.again)
			if kept := r.pods[uid] != nil; goesOn != tc.wantGoesOn || kept != tc.wantKept || tc.pod.busy != tc.wantGoesOn {
				t.Errorf("goes on: %t, kept: %t, busy: %t; want %t, %t, %t", goesOn, kept, tc.pod.busy, tc.wantGoesOn, tc.wantKept, tc.wantGoesOn)
			}
		})
	}
}

// TestRescueIsShared: pods of one team that take long to stop leave most streams to others, and none follows its log for long.
func TestRescueIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		streams := newRescueStreams()
		acquire := func(team string, running bool) (n int) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			for ; n < rescueStreams; n++ {
				if _, err := streams.acquire(ctx, team, running); err != nil {
					break
				}
			}
			return n
		}
		for _, team := range []string{"a", "b"} {
			if follows, others := acquire(team, true), acquire(team, false); follows != 7 || others != 1 {
				t.Errorf("team %s has %d streams of running containers and %d of others, want 7 and 1", team, follows, others)
			}
		}
		r := &Rescue{Clock: clock.RealClock{}}
		days := int64(7 * 24 * 3600)
		for name, p := range map[string]*corev1.Pod{
			"evicted": {Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(days)}},
			"deleted": {ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(metav1.NewTime(time.Now().Add(time.Duration(days) * time.Second)))}},
			"absurd":  {Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(math.MaxInt64))}},
		} {
			if left := r.left(p); left != rescueWithin {
				t.Errorf("the log of a pod that is %s is followed for %s, want %s", name, left, rescueWithin)
			}
		}
	})
}
