package e2e

import (
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// endWithin is how long a short run may take: seconds on an idle machine, more on one that compiles.
const endWithin = 2 * time.Minute

func (tm *team) keyOf(suite string) types.NamespacedName {
	return types.NamespacedName{Namespace: tm.name, Name: suite}
}

// suite reads a Suite as it is now.
func (tm *team) suite(name string) *v1alpha1.Suite {
	tm.t.Helper()
	s := &v1alpha1.Suite{}
	if err := tm.Get(tm.t.Context(), tm.keyOf(name), s); err != nil {
		tm.t.Fatalf("read Suite %s: %v", name, err)
	}
	return s
}

func (tm *team) suites() []v1alpha1.Suite {
	tm.t.Helper()
	list := &v1alpha1.SuiteList{}
	if err := tm.List(tm.t.Context(), list, client.InNamespace(tm.name)); err != nil {
		tm.t.Fatalf("list Suites: %v", err)
	}
	return list.Items
}

// await waits until a Suite is as it should be, and fails the test when that takes too long.
func (tm *team) await(name, what string, within time.Duration, is func(*v1alpha1.Suite) bool) *v1alpha1.Suite {
	tm.t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		s := tm.suite(name)
		if is(s) {
			return s
		}
		if time.Now().After(deadline) {
			tm.t.Fatalf("Suite %s is not %s after %s, but %s: %s", name, what, within, s.State(), message(s))
		}
	}
}

// awaitEnd waits for the end of a run, whatever it is.
func (tm *team) awaitEnd(name string, within time.Duration) *v1alpha1.Suite {
	tm.t.Helper()
	return tm.await(name, "ended", within, (*v1alpha1.Suite).Finished)
}

// awaitState waits for the end of a run, and fails the test if it is another one.
func (tm *team) awaitState(name, state string) *v1alpha1.Suite {
	tm.t.Helper()
	s := tm.awaitEnd(name, endWithin)
	if s.State() != state {
		tm.t.Fatalf("Suite %s ended %s, want %s: %s", name, s.State(), state, message(s))
	}
	return s
}

// awaitPod waits until a pod of the run has a container that runs.
func (tm *team) awaitPod(suite string) *corev1.Pod {
	tm.t.Helper()
	for deadline := time.Now().Add(endWithin); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, pod := range tm.pods(suite) {
			if pod.Status.Phase == corev1.PodRunning {
				return &pod
			}
		}
	}
	tm.t.Fatalf("no pod of Suite %s runs after %s", suite, endWithin)
	return nil
}

// awaitLog waits until the test of a run has printed something: from then on, it handles signals.
func (tm *team) awaitLog(suite, text string) {
	tm.t.Helper()
	out := ""
	for deadline := time.Now().Add(endWithin); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		out, _ = tm.kubectl("logs", "-n", tm.name, tm.awaitPod(suite).Name) // its container may not have started
		if strings.Contains(out, text) {
			return
		}
	}
	tm.t.Fatalf("the log of %s is %q after %s, want %q in it", suite, out, endWithin, text)
}

func (tm *team) pods(suite string) []corev1.Pod {
	tm.t.Helper()
	list := &corev1.PodList{}
	if err := tm.List(tm.t.Context(), list, client.InNamespace(tm.name), client.MatchingLabels{v1alpha1.LabelSuite: suite}); err != nil {
		tm.t.Fatalf("list pods: %v", err)
	}
	return list.Items
}

func (tm *team) jobs() []batchv1.Job {
	tm.t.Helper()
	list := &batchv1.JobList{}
	if err := tm.List(tm.t.Context(), list, client.InNamespace(tm.name)); err != nil {
		tm.t.Fatalf("list Jobs: %v", err)
	}
	return list.Items
}

// log is what the pods of a run have printed.
func (tm *team) log(suite string) string {
	tm.t.Helper()
	out, err := tm.kubectl("logs", "-n", tm.name, "job/"+suite)
	if err != nil {
		tm.t.Fatal(err)
	}
	return out
}

// history returns what the watches saw of a run.
func (tm *team) history(suite string) history { return tm.recorder.of(tm.keyOf(suite)) }
