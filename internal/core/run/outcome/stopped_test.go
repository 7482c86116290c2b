package outcome

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestStopped reads Jobs and pods as Kubernetes 1.36 with containerd wrote them: what stopped the pod, the policy of its Job, and the exit
// code with which the tests answered SIGTERM. Whatever the code, a pod that was stopped makes no run green. A kubelet removes deleted pods
// at once, so that they may be gone when their Job ends.
func TestStopped(t *testing.T) {
	const (
		drained  = "Error, interrupted: The cluster stopped the pod"
		deleted  = "Error, interrupted: The pod was deleted"
		disk     = "Failed: The pod was stopped because it needed more disk than its limit. Usage of EmptyDir"
		memory   = `Failed: A process in the container "test" was killed because it needed more memory than its limit of 64Mi.`
		failed   = `Failed: Container "test" exited with code 1`
		timedOut = "TimedOut: "
		passed   = "Passed: "
		gone     = "Error, interrupted: The pod"
		goneOne  = "Error, interrupted: Of the 2 pods that exited with 0, 1 is gone"
		failGone = "Error, interrupted: The pod was deleted before its end was seen"
	)
	for name, tc := range map[string]struct {
		seen, gone string
		event      bool // only the event of its eviction shows it
	}{
		"drained-default-0":           {drained, gone, false},
		"drained-default-1":           {drained, failGone, false},
		"drained-default-143":         {drained, failGone, false},
		"drained-repeated-0":          {drained, gone, false},
		"drained-repeated-1":          {passed, passed, false}, // by another pod
		"drained-repeated-143":        {passed, passed, false},
		"drained-ignored-0":           {drained, gone, false},
		"drained-ignored-1":           {passed, passed, false},
		"drained-ignored-143":         {passed, passed, false},
		"drained-replaced-failed-0":   {drained, gone, false},
		"drained-replaced-failed-1":   {drained, failGone, false},
		"drained-replaced-failed-143": {drained, failGone, false},
		"drained-indexed-0":           {drained, goneOne, false},
		"drained-indexed-1":           {drained, failGone, false},
		"drained-indexed-143":         {drained, failGone, false},
		"deleted-default-0":           {deleted, gone, false},
		"deleted-default-1":           {deleted, failGone, false},
		"deleted-repeated-0":          {deleted, gone, false},
		"deleted-repeated-1":          {passed, passed, false},
		"disk-default-0":              {disk, "", true}, // evicted pods stay
		"disk-default-1":              {disk, "", false},
		"disk-repeated-0":             {disk, "", true},
		"disk-repeated-1":             {passed, "", false},
		"memory-default-0":            {memory, "", false},
		"memory-default-1":            {`Failed: The container "test" was killed`, "", false},
		"late-default-0":              {timedOut, "", false},
		"passed-default-0":            {passed, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			j, pods := recorded(t, filepath.Join("testdata", "stopped", name+".json"))
			if tc.event {
				SetEvicted(&pods[0], `Usage of EmptyDir volume "d" exceeds the limit "1Mi". `)
			}
			left := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
			if got := describe(Observe(j, pods)); !strings.HasPrefix(got, tc.seen) {
				t.Errorf("seen: %s", got)
			}
			if got := describe(Observe(j, left)); tc.gone != "" && !strings.HasPrefix(got, tc.gone) {
				t.Errorf("gone: %s", got)
			}
		})
	}
}

func describe(s State) string {
	reason := s.Condition.Reason
	if s.Interrupted {
		reason += ", interrupted"
	}
	return reason + ": " + written(s).Message
}
