package debug

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/clitest"
)

func aJobOf(run string) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: run}}
	j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Image: "acme/tests:1", Command: []string{"npm", "test"},
		Args: []string{"--grep", "it's here"}}}
	return j
}

func restricted(j *batchv1.Job) *batchv1.Job {
	j.Spec.Template.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true)}
	return j
}

func aPodOf(run string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: run + "-x", Labels: map[string]string{v1alpha1.LabelSuite: run}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "test"}}}, Status: corev1.PodStatus{Phase: phase},
	}
}

func aDebugPod(run string) *corev1.Pod {
	p, _ := job.DebugPod(clitest.Suite(run), aJobOf(run), nil, job.Debugging{For: time.Hour})
	p.CreationTimestamp = metav1.NewTime(clitest.Noon.Add(-time.Minute))
	return p
}

func scripted(j *batchv1.Job) *batchv1.Job {
	j.Spec.Template.Spec.Containers[0].Command = []string{"sh", "-c", "npm ci\nnpm test"}
	return j
}

func TestDebug(t *testing.T) {
	failed, j, foreign := clitest.Suite("run", clitest.Failed), aJobOf("run"), aDebugPod("run")
	foreign.Labels = nil
	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		options Options
		pod     bool // afterwards
		says    []string
		fails   string
	}{
		"a run that failed": {"it starts a pod", []client.Object{failed, j, aPodOf("run", corev1.PodFailed)}, Options{}, true, []string{
			"The pod run-debug in the namespace acme is like the one of the run, and its container test waits instead of testing, until 13:00 UTC. Open a shell in it:",
			"kubectl exec -n acme -it run-debug -c test -- sh", "kubectl debug -n acme -it run-debug --target=test --image=busybox -- sh",
			`The tests of the run: npm test --grep 'it'\''s here'`, "postflight debug run -n acme --end",
		}, ""},
		"a script": {"on one line, it would be another", []client.Object{failed, scripted(aJobOf("run"))}, Options{}, true,
			[]string{"The tests of the run: a script, which -o json prints as tests"}, ""},
		"again": {"there is one", []client.Object{failed, j, aDebugPod("run")}, Options{}, true,
			[]string{"The pod run-debug in the namespace acme was there already, and waits, until 12:59 UTC."}, ""},
		"no pod is left": {"its Job says enough", []client.Object{failed, j}, Options{}, true, []string{"kubectl exec"}, ""},
		"a run that continues": {"it can be entered", []client.Object{clitest.Suite("run"), j, aPodOf("run", corev1.PodRunning)}, Options{},
			false,
			[]string{"The run run has not ended, so its own pod run-x can be entered", "kubectl debug -n acme -it run-x --target=test"}, ""},
		"a restricted pod": {"what comes beside it complies as well", []client.Object{failed, restricted(aJobOf("run"))}, Options{}, true,
			[]string{"--image=busybox --profile=restricted -- sh"}, ""},
		"a run that waits": {"it cannot", []client.Object{clitest.Suite("run")}, Options{}, false, nil,
			"has not ended, and no pod of it runs. Why it waits: postflight runs show run -n acme"},
		"no Job": {"it says how the pod was made", []client.Object{failed}, Options{}, false, nil,
			"Repeat the run: postflight runs rerun run -n acme"},
		"no run": {"a typing error", nil, Options{}, false, nil, `there is no run "run" in the namespace acme`},
		"no such container": {"a typing error", []client.Object{failed, j}, Options{Debugging: job.Debugging{Container: "tests"}}, false, nil,
			"They have: test."},
		"another pod": {"it is not ours", []client.Object{failed, j, foreign}, Options{}, true, nil,
			"the pod run-debug in the namespace acme is something else"},
		"print": {"it creates nothing", []client.Object{failed, j}, Options{Print: true}, false, nil, ""},
		"end":   {"it stops", []client.Object{aDebugPod("run")}, Options{End: true}, false, []string{"The pod run-debug in the namespace acme stops."}, ""},
		"end of nothing": {"it may have ended", []client.Object{failed}, Options{End: true}, false,
			[]string{"There is no pod to debug the run run in the namespace acme."}, ""},
		"end of another": {"it is not ours", []client.Object{foreign}, Options{End: true}, true,
			[]string{"There is no pod to debug the run run in the namespace acme."}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			for _, o := range tc.objects {
				objects = append(objects, o.DeepCopyObject().(client.Object))
			}
			console, out, log := clitest.Console()
			o := tc.options
			o.For, o.Cluster = time.Hour, clitest.Cluster(console, objects...)
			err := o.Run(t.Context(), "run")
			if (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			clitest.Contains(t, tc.reason+": standard error", log.String(), tc.says...)
			pods := &corev1.PodList{}
			if err := o.Client.List(t.Context(), pods, client.HasLabels{}); err != nil {
				t.Fatal(err)
			}
			has := false
			for _, p := range pods.Items {
				has = has || p.Name == "run-debug"
			}
			if has != tc.pod {
				t.Errorf("%s: there is a pod to debug: %t", tc.reason, has)
			}
			if o.Print && (!strings.Contains(out.String(), "kind: Pod") || !strings.Contains(out.String(), "apiVersion: v1")) {
				t.Errorf("%s", out)
			}
		})
	}
}

func TestDebugAsJSON(t *testing.T) {
	console, out, _ := clitest.Console()
	console.JSON = true
	o := Options{Cluster: clitest.Cluster(console, clitest.Suite("run", clitest.Failed), aJobOf("run")),
		Debugging: job.Debugging{For: time.Hour}}
	if err := o.Run(t.Context(), "run"); err != nil {
		t.Fatal(err)
	}
	var r Result
	if err := json.NewDecoder(bytes.NewReader(out.Bytes())).Decode(&r); err != nil {
		t.Fatal(err)
	}
	if r.Pod != "run-debug" || r.Container != "test" || !r.Until.Equal(clitest.Noon.Add(time.Hour)) || len(r.Commands) != 3 ||
		len(r.Tests) != 4 {
		t.Errorf("%+v", r)
	}
}

func TestDebugFlags(t *testing.T) {
	for args, want := range map[string]string{
		"debug":                        "accepts 1 arg(s), received 0",
		"debug run --for 10s":          "--for 10s: a pod waits from 1m to 24h",
		"debug run --for 25h":          "--for 25h0m0s: a pod waits from 1m to 24h",
		"debug run --end --print":      "choose one of them",
		"debug run --keep-failed-pods": "unknown flag",
	} {
		if _, log, code := (clitest.Program{New}).Invoke(t, strings.Fields(args)...); code == 0 || !strings.Contains(log, want) {
			t.Errorf("%s: %d, %s", args, code, log)
		}
	}
}
