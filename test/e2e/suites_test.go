package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
)

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

// await waits until a Suite is as it should be, and fails the test when it never is.
func (tm *team) await(name, what string, is func(*v1alpha1.Suite) bool) *v1alpha1.Suite {
	tm.t.Helper()
	return tm.awaitFor(poll.Limit, name, what, is)
}

// awaitFor is await for runs that take longer than others.
func (tm *team) awaitFor(limit time.Duration, name, what string, is func(*v1alpha1.Suite) bool) *v1alpha1.Suite {
	tm.t.Helper()
	var s *v1alpha1.Suite
	err := poll.Wait(limit, "Suite "+name+" "+what, func() string {
		switch s = tm.seen(name); {
		case s == nil:
			return "there is no such Suite"
		case !is(s):
			return s.State() + ": " + message(s)
		}
		return ""
	})
	if err != nil {
		tm.t.Fatal(err)
	}
	return s.DeepCopy()
}

// seen is a Suite as the watches saw it last, which costs the API server nothing.
func (tm *team) seen(name string) *v1alpha1.Suite {
	if tm.recorder == nil {
		return tm.suite(name)
	}
	return tm.history(name).suite
}

// awaitEnd waits for the end of a run, whatever it is.
func (tm *team) awaitEnd(name string) *v1alpha1.Suite {
	tm.t.Helper()
	return tm.await(name, "ended", (*v1alpha1.Suite).Finished)
}

// awaitState waits for the end of a run, and fails the test if it is another one.
func (tm *team) awaitState(name, state string) *v1alpha1.Suite {
	tm.t.Helper()
	s := tm.awaitEnd(name)
	if s.State() != state {
		tm.t.Fatalf("Suite %s ended %s, want %s: %s", name, s.State(), state, message(s))
	}
	return s
}

// awaitRunOf waits for the run of a deployment, which is found by its branch or its commit.
func (tm *team) awaitRunOf(is func(v1alpha1.Deployment) bool) (name string) {
	tm.t.Helper()
	poll.True(tm.t, "a run of the deployment", func() bool {
		for _, s := range tm.suites() {
			if is(s.Spec.Deployment) {
				name = s.Name
				return true
			}
		}
		return false
	})
	return name
}

// awaitPod waits until a pod of the run has a container that runs.
func (tm *team) awaitPod(suite string) (running *corev1.Pod) {
	tm.t.Helper()
	poll.Until(tm.t, "a running pod of Suite "+suite, func() string {
		phases := "no pod"
		for _, pod := range tm.history(suite).live {
			if phases = string(pod.Status.Phase); pod.Status.Phase == corev1.PodRunning {
				running = pod
				return ""
			}
		}
		return phases
	})
	return running
}

// awaitLog waits until the test of a run has printed something: from then on, it handles signals.
func (tm *team) awaitLog(suite, text string) {
	tm.t.Helper()
	pod := tm.awaitPod(suite).Name
	poll.Until(tm.t, fmt.Sprintf("%q in the log of %s", text, suite), func() string {
		out, err := tm.podLog(pod) // its container may not have started
		if strings.Contains(out, text) {
			return ""
		}
		return fmt.Sprintf("%q, %v", out, err)
	})
}

// podLog is what the test of a pod has printed until now.
func (tm *team) podLog(pod string) (string, error) {
	resp, err := tm.http.Get(tm.config.Host + "/api/v1/namespaces/" + tm.name + "/pods/" + pod + "/log?container=test")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", resp.Status, content)
	}
	return string(content), err
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
