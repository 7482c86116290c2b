package outcome

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestEnding: three decisions ask how a pod ended whose report is whole, with failed tests that are all in quarantine. They agree on what
// stopped it, and differ where nobody can know.
func TestEnding(t *testing.T) {
	const cluster, rerun, excused = "the cluster ended it, so the run is repeated", "only its failed tests may run again", "a Quarantine may excuse it"
	restarted := func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 1 }
	signaled := func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Signal = 9 }
	evicted := podReason("Evicted", "The node was low on resource: memory.")
	for name, tc := range map[string]struct {
		state  corev1.ContainerState
		failed int32
		change []func(*corev1.Pod)
		want   []string
	}{
		"as most runners do":                   {exit(1, 40, ""), 3, nil, []string{rerun, excused}},
		"with the number of failed tests":      {exit(3, 40, ""), 3, nil, []string{rerun, excused}},
		"with another code":                    {exit(2, 40, ""), 3, nil, []string{rerun}},
		"with 0":                               {exitFor("Completed", 0, 40, ""), 3, nil, []string{rerun, excused}},
		"a command cannot be run":              {exit(126, 40, ""), 126, nil, []string{rerun}},
		"a command was not found":              {exit(127, 40, ""), 127, nil, []string{rerun}},
		"from signals on":                      {exit(128, 40, ""), 128, nil, nil},
		"killed":                               {exit(137, 40, ""), 3, nil, nil},
		"stopped":                              {exit(143, 40, ""), 3, nil, nil},
		"crashed":                              {exit(139, 40, ""), 3, nil, nil},
		"by a signal, as some runtimes say it": {exit(1, 40, ""), 3, []func(*corev1.Pod){signaled}, nil},
		"of its memory":                        {exitFor("OOMKilled", 137, 40, ""), 3, nil, nil},
		"a process of its memory":              {exitFor("OOMKilled", 1, 40, ""), 3, nil, nil},
		"for a reason of the runtime":          {exitFor("ContainerCannotRun", 1, 40, ""), 3, nil, []string{rerun}},
		"restarted":                            {exit(1, 40, ""), 3, []func(*corev1.Pod){restarted}, nil},
		"lost by the kubelet":                  {exitFor("ContainerStatusUnknown", 137, 40, ""), 3, nil, []string{cluster}},
		"nobody knows":                         {runs, 3, nil, nil},
		"evicted":                              {exit(1, 40, ""), 3, []func(*corev1.Pod){evicted}, []string{cluster}},
		"disrupted":                            {exit(1, 40, ""), 3, []func(*corev1.Pod){disruptionTarget("EvictionByEvictionAPI", "")}, []string{cluster}},
		"deleted before":                       {exit(1, 40, ""), 3, []func(*corev1.Pod){deleted(30)}, []string{cluster}},
		"deleted afterwards":                   {exit(1, 40, ""), 3, []func(*corev1.Pod){deleted(41)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			report := collects(exitFor("Completed", 0, 50, results.Message(found(tc.failed, tc.failed))))
			p := newPod(corev1.PodFailed, append([]func(*corev1.Pod){container("test", tc.state), report}, tc.change...)...)
			wants := map[string]bool{}
			for _, w := range tc.want {
				wants[w] = true
			}
			for decision, got := range map[string]bool{cluster: endingOf(&p).stoppedByCluster(), rerun: !failedOtherwise(p), excused: otherFailure(&p, "test") == ""} {
				if got != wants[decision] {
					t.Errorf("%s: %t, want %t", decision, got, wants[decision])
				}
			}
			if got, want := failedByItself(p), !wants[cluster] && p.DeletionTimestamp == nil; got != want {
				t.Errorf("it failed by itself: %t, want %t", got, want)
			}
		})
	}
}

// TestStoppedOrNot: exit code 0 counts only if nothing may have stopped the tests before.
func TestStoppedOrNot(t *testing.T) {
	afterFailure := func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		p.Status.ContainerStatuses[0].LastTerminationState = exit(1, 10, "")
		p.Status.ContainerStatuses[0].RestartCount = 1
	}
	confirmed := func(second int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(after(second)), new(int64(0))
		}
	}
	disruptedAt := func(second int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			disruptionTarget("EvictionByEvictionAPI", "")(p)
			p.Status.Conditions[0].LastTransitionTime = after(second)
		}
	}
	for name, tc := range map[string]struct {
		change []func(*corev1.Pod)
		want   cause
	}{
		"nothing":                         {nil, causeItself},
		"deleted before":                  {[]func(*corev1.Pod){deleted(30)}, causeDeletion},
		"deleted just after":              {[]func(*corev1.Pod){deleted(49)}, causeDeletion},
		"deleted long after":              {[]func(*corev1.Pod){deleted(51)}, causeItself},
		"a late confirmation":             {[]func(*corev1.Pod){confirmed(200)}, causeDeletion},
		"disrupted before":                {[]func(*corev1.Pod){disruptedAt(30)}, causeCluster},
		"disrupted just after":            {[]func(*corev1.Pod){disruptedAt(50)}, causeCluster},
		"disrupted long after":            {[]func(*corev1.Pod){disruptedAt(51)}, causeItself},
		"disrupted, nobody knows when":    {[]func(*corev1.Pod){disruptionTarget("TerminationByKubelet", "")}, causeCluster},
		"evicted":                         {[]func(*corev1.Pod){podReason("Evicted", "")}, causeCluster},
		"shut down":                       {[]func(*corev1.Pod){podReason("Terminated", "Pod was terminated in response to imminent node shutdown.")}, causeCluster},
		"too late":                        {[]func(*corev1.Pod){late(40)}, causeTimeLimit},
		"just in time":                    {[]func(*corev1.Pod){late(41)}, causeItself},
		"restarted, and deleted":          {[]func(*corev1.Pod){afterFailure, deleted(30)}, causeDeletion},
		"restarted, deleted, and removed": {[]func(*corev1.Pod){afterFailure, confirmed(41)}, causeDeletion},
		"restarted":                       {[]func(*corev1.Pod){afterFailure}, causeItself},
		"a signal":                        {[]func(*corev1.Pod){func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Signal = 15 }}, causeSignal},
		"memory":                          {[]func(*corev1.Pod){func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Reason = "OOMKilled" }}, causeMemory},
		"memory of an init container":     {[]func(*corev1.Pod){initContainer("seed", exitFor("OOMKilled", 0, 5, ""))}, causeMemory},
		"memory of our own":               {[]func(*corev1.Pod){initContainer(job.PrepareContainer, exitFor("OOMKilled", 0, 5, ""))}, causeItself},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(corev1.PodSucceeded, append([]func(*corev1.Pod){container("test", exitFor("Completed", 0, 40, ""))}, tc.change...)...)
			if got := endingOf(&p).cause; got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}
