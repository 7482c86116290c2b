package outcome

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/core/results"
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
