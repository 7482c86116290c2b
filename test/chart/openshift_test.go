package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestOpenShift: the SCC restricted-v2 admits the pod of the manager with the values for OpenShift, and the pods of runs whose templates
// choose no ids, with all that Postflight adds to them.
func TestOpenShift(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	admits := restrictedV2(t)
	values := path(t, "charts", "postflight", "ci", "openshift-values.yaml")
	manager := deployment(t, "--values", values).Spec.Template.Spec
	secure := deployment(t, "--values", values, "--set", "tls.enabled=true,tls.existingSecret=a,tls.ca.existingSecret=a",
		"--set", "store.existingSecret=a,route.tls.termination=reencrypt").Spec.Template.Spec
	least := corev1.PodSpec{Containers: []corev1.Container{{Name: "test", Image: "test"}}}
	with := func(change func(*corev1.PodSpec)) corev1.PodSpec {
		pod := least.DeepCopy()
		change(pod)
		return *pod
	}
	for name, tc := range map[string]struct {
		pod     corev1.PodSpec
		refused string
	}{
		"the manager":                        {pod: manager},
		"the manager with Secrets and HTTPS": {pod: secure},
		"the manager with default values":    {deployment(t).Spec.Template.Spec, "it chooses its user"},
		"a run":                              {pod: podOf(least, false)},
		"a run with inputs and results":      {pod: podOf(least, true)},
		"a run that chooses its user":        {podOf(with(func(p *corev1.PodSpec) { p.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1000))} }), true), "it chooses its user"},
		"a run with a folder of the node": {podOf(with(func(p *corev1.PodSpec) {
			p.Volumes = []corev1.Volume{{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		}), true), "it has a volume that it may not use"},
		"a run as root": {podOf(with(func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(0))}
		}), true), "a container chooses its user"},
	} {
		t.Run(name, func(t *testing.T) {
			switch err := admits(tc.pod); {
			case tc.refused == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)):
				t.Errorf("got %v, want it to be refused because %s", err, tc.refused)
			}
		})
	}
}

// restrictedV2 is an API server that admits pods as OpenShift does.
func restrictedV2(t *testing.T) (admits func(corev1.PodSpec) error) {
	t.Helper()
	s := apiserver.New(t)
	if out, err := s.Kubectl(t, "apply", "-f", path(t, "test", "chart", "testdata", "restricted_v2.yaml")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ns := s.Namespace(t)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"test":"openshift"}}}`))
	if err := s.Client.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, patch); err != nil {
		t.Fatal(err)
	}
	admits = func(pod corev1.PodSpec) error {
		pod.ServiceAccountName, pod.PriorityClassName = "default", "" // no others exist here
		return s.Client.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tried"}, Spec: pod}, client.DryRunAll)
	}
	poll.Until(t, "the policy is in force", func() string {
		err := admits(corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "test", Image: "test"}}})
		if err == nil || !strings.Contains(err.Error(), "it uses a namespace of the node") {
			return fmt.Sprintf("%v", err)
		}
		return ""
	})
	return admits
}

// podOf is the pod of a run of a template, perhaps with everything that the manager may add to it.
func podOf(template corev1.PodSpec, all bool) corev1.PodSpec {
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke"}}
	trigger.Spec.JobTemplate.Spec.Template.Spec = template
	run := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "run"}, Spec: v1alpha1.SuiteSpec{Environment: "staging"}}
	j := job.Build(run, trigger, &v1alpha1.Environment{})
	if all {
		trigger.Spec.Results = &v1alpha1.Results{}
		j = job.WithInputs(j, job.Inputs{Directory: "/inputs", Image: "postflight", Files: []job.File{{Path: "a", URL: "https://a"}}})
		j = job.WithResults(j, job.ResultsOf(trigger, &job.Collector{Image: "postflight", URL: "https://postflight"}))
	}
	return j.Spec.Template.Spec
}

// TestOpenShiftPage: the chart accepts the values of the page. The first are those of the flavour.
func TestOpenShiftPage(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	var files []string
	for i, block := range yamlOf(t, "docs/install/openshift.md") {
		if strings.HasPrefix(block, "patches:") {
			continue // of kustomize
		}
		file := filepath.Join(t.TempDir(), fmt.Sprintf("values-%d.yaml", i))
		if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) != 3 {
		t.Fatalf("%d sets of values, want 3", len(files))
	}
	render := func(args ...string) map[string]*unstructured.Unstructured {
		t.Helper()
		rendered, err := template(t, release, namespace, args...)
		if err != nil {
			t.Fatal(err)
		}
		return objects(t, rendered)
	}
	flavour := render("--values", path(t, "charts", "postflight", "ci", "openshift-values.yaml"))
	if diff := cmp.Diff(flavour, render("--values", files[0])); diff != "" {
		t.Errorf("(-flavour +page):\n%s", diff)
	}
	route := render("--values", files[0], "--values", files[1], "--set", "tls.enabled=true,tls.existingSecret=a")["Route postflight"].Object
	termination, _, err := unstructured.NestedString(route, "spec", "tls", "termination")
	if termination != "reencrypt" || err != nil {
		t.Errorf("the Route is %v: %v", route, err)
	}
	monitored := render("--values", files[0], "--values", files[2])
	for _, name := range []string{"ServiceMonitor postflight", "PrometheusRule postflight", "Secret metrics-reader"} {
		if monitored[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
}

// yamlOf are the blocks of YAML of a page.
func yamlOf(t *testing.T, page string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(path(t, page))
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(text), "```") {
		if block, ok := strings.CutPrefix(block, "yaml\n"); ok {
			blocks = append(blocks, block)
		}
	}
	return blocks
}
