package job

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

// debugged is a Job as the manager builds it, and as the API server stores it.
func debugged(change ...func(*batchv1.Job)) *batchv1.Job {
	t := newTrigger(func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": "e2e"}
		t.Spec.JobTemplate.Spec.Template.Annotations = map[string]string{"sidecar.istio.io/inject": "false"}
		pod(t).InitContainers = []corev1.Container{{Name: "migrate", Image: "migrate"}}
		pod(t).Containers = []corev1.Container{
			{Name: "test", Image: "acme/tests:1", Command: []string{"npm"}, Args: []string{"test"}, LivenessProbe: &corev1.Probe{}, Env: []corev1.EnvVar{{Name: "CI", Value: "true"}}},
			{Name: "browser", Image: "chrome", Command: []string{"chrome"}},
		}
		t.Spec.Results = &v1alpha1.Results{}
	})
	j := Build(newSuite(), t, newEnvironment())
	j = WithInputs(j, Inputs{Directory: "/inputs", Image: "postflight", Files: []File{{Path: "app.apk", URL: "https://store/app.apk"}}})
	j = WithResults(j, ResultsOf(t, &Collector{Image: "postflight", URL: "https://manager"}))
	j.Spec.Template.Labels[batchv1.JobNameLabel], j.Spec.Template.Labels["controller-uid"] = j.Name, "uid"
	return build.With(j, change...)
}

func TestDebugPod(t *testing.T) {
	pod := &corev1.Pod{}
	shard := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: "3"}}}
	for name, tc := range map[string]struct {
		reason string
		pod    *corev1.Pod
		d      Debugging
		waits  string
		inits  []string
		image  string
		index  string
	}{
		"the container that failed": {"it is looked at", pod, Debugging{Failed: "test"}, "test", []string{FetchContainer, "migrate"}, "acme/tests:1", ""},
		"another one failed":        {"it is looked at", pod, Debugging{Failed: "browser"}, "browser", []string{FetchContainer, "migrate"}, "chrome", ""},
		"an init container failed":  {"it runs again, before the first", pod, Debugging{Failed: "migrate"}, "test", []string{FetchContainer, "migrate"}, "acme/tests:1", ""},
		"no pod is left":            {"the Job says enough", nil, Debugging{}, "test", []string{FetchContainer, "migrate"}, "acme/tests:1", ""},
		"as asked":                  {"", pod, Debugging{Failed: "test", Container: "browser", Image: "busybox"}, "browser", []string{FetchContainer, "migrate"}, "busybox", ""},
		"without inputs":            {"their links have expired", pod, Debugging{Failed: "test", WithoutInputs: true}, "test", []string{"migrate"}, "acme/tests:1", ""},
		"a shard":                   {"it sees its own index", shard, Debugging{Failed: "test"}, "test", []string{FetchContainer, "migrate"}, "acme/tests:1", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			j, s := debugged(), newSuite()
			before := j.DeepCopy()
			tc.d.For = time.Hour
			p, problem := DebugPod(s, j, tc.pod, tc.d)
			if problem != "" {
				t.Fatal(problem)
			}
			if diff := cmp.Diff(before, j); diff != "" {
				t.Errorf("the Job has changed:\n%s", diff)
			}
			var inits []string
			for _, c := range p.Spec.InitContainers {
				inits = append(inits, c.Name)
			}
			i := slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == tc.waits })
			c := p.Spec.Containers[i]
			if DebugContainer(p) != tc.waits || !slices.Equal(c.Command, []string{"sleep", "3600"}) || c.Args != nil || c.LivenessProbe != nil || c.Image != tc.image || !slices.Equal(inits, tc.inits) {
				t.Errorf("%s: %s, %v: %+v", tc.reason, DebugContainer(p), inits, c)
			}
			if index := p.Annotations[batchv1.JobCompletionIndexAnnotation]; index != tc.index || values(c)["JOB_COMPLETION_INDEX"] != tc.index {
				t.Errorf("the index is %q, and in the container %q", index, values(c)["JOB_COMPLETION_INDEX"])
			}
			checkDebugPod(t, p, s)
		})
	}
}

// checkDebugPod: the pod counts for no run, is like its pods, and ends by itself.
func checkDebugPod(t *testing.T, p *corev1.Pod, s *v1alpha1.Suite) {
	t.Helper()
	for _, label := range append([]string{v1alpha1.LabelSuite}, staleLabels...) {
		if p.Labels[label] != "" {
			t.Errorf("it has the label %s, by which pods of runs are found", label)
		}
	}
	if p.Labels[v1alpha1.LabelDebug] != s.Name || p.Labels["app"] != "e2e" || p.Annotations["sidecar.istio.io/inject"] != "false" {
		t.Errorf("%v, %v", p.Labels, p.Annotations)
	}
	if p.Name != s.Name+"-debug" || len(p.Name) > 63 || *p.Spec.ActiveDeadlineSeconds != 3600 || p.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("%s, %d s", p.Name, *p.Spec.ActiveDeadlineSeconds)
	}
	if owner := p.OwnerReferences; len(owner) != 1 || owner[0].UID != s.UID || owner[0].Controller != nil {
		t.Errorf("%+v", owner)
	}
	c := p.Spec.Containers[0]
	if values(c)["CI"] != "true" || values(c)[ResultsDirectoryVariable] == "" || !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == ResultsVolume }) {
		t.Errorf("%+v", c)
	}
	if slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == tokenVolume }) {
		t.Error("it has the token of the collector")
	}
}

func TestDebugPodOfAnUnknownContainer(t *testing.T) {
	if _, problem := DebugPod(newSuite(), debugged(), nil, Debugging{Container: "tests"}); !strings.Contains(problem, `no container "tests". They have: test, browser.`) {
		t.Errorf("%q", problem)
	}
}
