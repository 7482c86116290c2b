package peers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/managers"
	"github.com/postflight-dev/postflight/test/poll"
)

const (
	podTurns     = 3
	tektonSystem = "tekton-pipelines"
	unlimited    = "100000" // requests a second of a client, which is never reached
	threads      = "32"     // of each controller
)

// podBench is an API server with the Job controller of Kubernetes, which both sides use. No pod runs.
type podBench struct {
	b    *testing.B
	s    *apiserver.Server
	jobs int // id of the process of the Job controller
	n    int // runs of a turn
}

// BenchmarkTekton measures the time from the first of a thousand runs of Tekton to the last of their pods, and from the first of as many
// notifications to the last of theirs: a Job comes between. In turns, a controller of Tekton and a manager run alone.
func BenchmarkTekton(b *testing.B) {
	w := podBench{b: b, s: apiserver.Own(b, apiserver.Options{}), n: benchSize(1000)}
	installTekton(b, w.s)
	w.jobs = w.s.RunControllers(b, "job-controller",
		"--kube-api-qps="+unlimited, "--kube-api-burst="+unlimited, "--concurrent-job-syncs="+threads)
	taskRuns := w.s.Namespace(b)
	must(b, w.s.Client.Create(b.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: taskRuns, Name: "default"}}))
	team := newBenchTeam(b, w.s, 0, build.Trigger("smoke", func(t *v1alpha1.Trigger) {
		t.Spec.Match.DeploymentTypes = []string{"smoke"}
		t.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Command = []string{"true"}
	}))
	for b.Loop() {
		tekton, postflight := newTurns(), newTurns()
		for turn := range podTurns {
			if turn%2 == 1 {
				w.notifications(&postflight, team, turn)
			}
			w.taskRuns(&tekton, taskRuns, turn)
			if turn%2 == 0 {
				w.notifications(&postflight, team, turn)
			}
		}
		w.print("tekton", tekton)
		w.print("postflight", postflight)
		cpu := func(t turns, processes ...string) (all float64) {
			for _, name := range processes {
				all += t.cost.perRun(name, podTurns*w.n)
			}
			return all
		}
		fmt.Printf("TEKTON_RATIO speed=%.2f speed_to_jobs=%.2f controller_cpu=%.2f controllers_cpu=%.2f api_server_cpu=%.2f writes=%.2f\n",
			tekton.total().Seconds()/postflight.total().Seconds(), tekton.total().Seconds()/postflight.toJobs.Seconds(),
			cpu(postflight, "controller")/cpu(tekton, "controller"),
			cpu(postflight, "controller", "job_controller")/cpu(tekton, "controller"),
			cpu(postflight, "api_server")/cpu(tekton, "api_server"),
			postflight.cost.writesPerRun(1)/tekton.cost.writesPerRun(1))
	}
}

// turns are those of one side.
type turns struct {
	took    []time.Duration
	toJobs  time.Duration // of all turns
	cost    usage
	peakMiB int
}

func newTurns() turns { return turns{cost: newUsage()} }

func (t *turns) total() (all time.Duration) {
	for _, took := range t.took {
		all += took
	}
	return all
}

func (w *podBench) print(by string, t turns) {
	w.b.Helper()
	runs := podTurns * w.n
	var seconds []string
	for _, took := range t.took {
		seconds = append(seconds, fmt.Sprintf("%.2f", took.Seconds()))
	}
	fmt.Printf("TEKTON_PODS by=%s runs=%d seconds=%s per_second=%.0f controller_cpu_ms_per_run=%.2f job_controller_cpu_ms_per_run=%.2f "+
		"api_server_cpu_ms_per_run=%.2f etcd_cpu_ms_per_run=%.2f writes_per_run=%.2f peak_mib=%d\n",
		by, runs, strings.Join(seconds, ","), float64(runs)/t.total().Seconds(), t.cost.perRun("controller", runs),
		t.cost.perRun("job_controller", runs), t.cost.perRun("api_server", runs), t.cost.perRun("etcd", runs),
		t.cost.writesPerRun(runs), t.peakMiB)
	w.b.Logf("requests per run of %s: %s", by, t.cost.describe(runs))
}

// taskRuns starts a controller of Tekton for a turn.
func (w *podBench) taskRuns(t *turns, ns string, turn int) {
	w.b.Helper()
	controller := startTekton(w.b, w.s)
	defer controller.stop()
	create := func(name string) {
		run := taskRun(ns, name)
		if err := w.s.Client.Create(w.b.Context(), run); err != nil {
			w.b.Error(err)
		}
	}
	clear := func() { w.clear(ns, taskRun(ns, "").GroupVersionKind()) }
	create(fmt.Sprintf("warm-up-%d", turn))
	w.awaitCount(ns, podKind, 1)
	clear()
	t.add(w, controller.pid(), func() {
		inCrowd(w.n, func(i int) { create(fmt.Sprintf("run-%d-%d", turn, i)) })
		w.awaitCount(ns, podKind, w.n)
	})
	clear()
}

// notifications starts a manager for a turn.
func (w *podBench) notifications(t *turns, team benchTeam, turn int) {
	w.b.Helper()
	lease := &unstructured.Unstructured{}
	lease.SetGroupVersionKind(schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"})
	lease.SetNamespace("postflight-system")
	lease.SetName("postflight")
	must(w.b, crclient.IgnoreNotFound(w.s.Client.Delete(w.b.Context(), lease))) // of the manager that was killed
	p := startLeader(w.b, w.s)
	defer p.Kill()
	c := team.connect(w.b, p, "smoke")
	clear := func() { w.clear(team.namespace, v1alpha1.GroupVersion.WithKind("Suite"), jobKind) }
	notify(w.b, c, notificationOf("smoke", fmt.Sprintf("warm-up-%d", turn)))
	w.awaitCount(team.namespace, podKind, 1)
	clear()
	t.add(w, p.PID(), func() {
		began := time.Now()
		inCrowd(w.n, func(i int) { notify(w.b, c, notificationOf("smoke", fmt.Sprintf("run-%d-%d", turn, i))) })
		w.awaitCount(team.namespace, jobKind, w.n)
		t.toJobs += time.Since(began)
		w.awaitCount(team.namespace, podKind, w.n)
	})
	clear()
}

// add measures a turn: until its last pod exists. What follows is left out, because no pod starts: the manager would look for reasons.
func (t *turns) add(w *podBench, controller int, turn func()) {
	w.b.Helper()
	m := meter{w.s, map[string]int{"controller": controller, "job_controller": w.jobs}}
	t.cost.add(m.measure(w.b, func() {
		began := time.Now()
		turn()
		t.took = append(t.took, time.Since(began))
	}), 1)
	t.peakMiB = max(t.peakMiB, managers.MemoryMiB(w.b, controller, "VmHWM:"))
}

var (
	podKind = corev1.SchemeGroupVersion.WithKind("Pod")
	jobKind = batchv1.SchemeGroupVersion.WithKind("Job")
)

// awaitCount asks for one object and the number of the others, which costs the API server little.
func (w *podBench) awaitCount(ns string, kind schema.GroupVersionKind, n int) {
	w.b.Helper()
	poll.Until(w.b, fmt.Sprintf("there are %d of %s", n, kind.Kind), func() string {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		must(w.b, w.s.Client.List(w.b.Context(), list, crclient.InNamespace(ns), crclient.Limit(1)))
		count := len(list.Items)
		if list.RemainingItemCount != nil {
			count += int(*list.RemainingItemCount)
		}
		if n > 0 && count >= n || count == n {
			return ""
		}
		return fmt.Sprintf("there are %d", count)
	})
}

// clear deletes all runs and their pods. Jobs first: without them, the Job controller releases the pods.
func (w *podBench) clear(ns string, kinds ...schema.GroupVersionKind) {
	w.b.Helper()
	for _, kind := range append(slices.Clone(kinds), podKind) {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		must(w.b, w.s.Client.DeleteAllOf(w.b.Context(), o, crclient.InNamespace(ns), crclient.GracePeriodSeconds(0),
			crclient.PropagationPolicy(metav1.DeletePropagationBackground)))
	}
	for _, kind := range append(slices.Clone(kinds), podKind) {
		w.awaitCount(ns, kind, 0)
	}
}

// taskRun has one step, whose command is given, so that Tekton need not ask a registry for it.
func taskRun(ns, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "tekton.dev/v1", "kind": "TaskRun",
		"metadata": map[string]any{"namespace": ns, "name": name},
		"spec": map[string]any{"taskSpec": map[string]any{
			"steps": []any{map[string]any{"name": "test", "image": "test", "command": []any{"true"}}},
		}},
	}}
}

// installTekton applies what Tekton ships, without its webhook: the API server stores and serves v1, so it need not convert.
func installTekton(b *testing.B, s *apiserver.Server) {
	b.Helper()
	peer(b, "tekton-controller") // the files come with it
	must(b, s.Client.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tektonSystem}}))
	_, err := s.Kubectl(b, "apply", "--server-side", "-f", path(b, "bin", "peers", "tekton"))
	must(b, err)
	_, err = s.Kubectl(b, "wait", "--for=condition=Established", "customresourcedefinitions", "--all", "--timeout=60s")
	must(b, err)
}

// startTekton starts its controller as it is shipped and with the rights that it has then, without limits and without an election.
func startTekton(b *testing.B, s *apiserver.Server) *program {
	b.Helper()
	account := rest.CopyConfig(s.Config)
	account.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + tektonSystem + ":tekton-pipelines-controller",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + tektonSystem, "system:authenticated"},
	}
	probes := port(b)
	env := []string{
		"SYSTEM_NAMESPACE=" + tektonSystem, "CONFIG_LEADERELECTION_NAME=config-leader-election-controller", "CONFIG_SPIRE=config-spire",
		"METRICS_DOMAIN=tekton.dev/pipeline", "METRICS_PROMETHEUS_PORT=" + port(b), "PROFILING_PORT=" + port(b), "PROBES_PORT=" + probes,
	}
	args := []string{"-kubeconfig", apiserver.Kubeconfig(b, account), "-kube-api-qps", unlimited, "-kube-api-burst", unlimited,
		"-threads-per-controller", threads, "-disable-ha"}
	for _, image := range []string{"entrypoint", "nop", "sidecarlogresults", "workingdirinit", "shell"} {
		args = append(args, "-"+image+"-image", "example.com/"+image)
	}
	p := startProgram(b, "tekton-controller", env, append(args, "-shell-image-win", "example.com/shell")...)
	poll.True(b, "the controller of Tekton serves", func() bool {
		resp, err := http.Get("http://127.0.0.1:" + probes + "/readiness")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}
