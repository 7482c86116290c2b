package controllers

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
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
			r.forget(func(types.UID) bool { return tc.gone })
			if r.pods[uid] == nil {
				t.Fatal("it is forgotten while its logs are saved")
			}
			goesOn := r.goesOn(uid, &tc.pod, tc.again)
			if kept := r.pods[uid] != nil; goesOn != tc.wantGoesOn || kept != tc.wantKept || tc.pod.busy != tc.wantGoesOn {
				t.Errorf("goes on: %t, kept: %t, busy: %t; want %t, %t, %t", goesOn, kept, tc.pod.busy, tc.wantGoesOn, tc.wantKept, tc.wantGoesOn)
			}
		})
	}
}
