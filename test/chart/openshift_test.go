package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/postflight-dev/postflight/test/tier"
)

// TestOpenShift: the SCC restricted-v2 admits the pod with the values for OpenShift, and assigns its ids.
func TestOpenShift(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	values := path(t, "charts", "postflight", "ci", "openshift-values.yaml")
	for name, args := range map[string][]string{
		"the flavour": {"--values", values},
		"with Secrets and HTTPS": {"--values", values, "--set", "tls.enabled=true,tls.existingSecret=a,tls.ca.existingSecret=a",
			"--set", "store.existingSecret=a,route.tls.termination=reencrypt"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := deployment(t, args...).Spec.Template.Spec
			if diff := cmp.Diff([]string(nil), refusals(&pod)); diff != "" {
				t.Errorf("restricted-v2 refuses the pod (-want +got):\n%s", diff)
			}
		})
	}
	pod := deployment(t).Spec.Template.Spec
	want := []string{"it chooses its user", "it chooses its group", "it chooses the group of its volumes"}
	if diff := cmp.Diff(want, refusals(&pod)); diff != "" {
		t.Errorf("with the default values (-want +got):\n%s", diff)
	}
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

// refusals are what restricted-v2 refuses in a pod. It ignores the group of the process, but that has to fit the user.
func refusals(pod *corev1.PodSpec) (all []string) {
	refuse := func(refused bool, what string) {
		if refused {
			all = append(all, what)
		}
	}
	s := pod.SecurityContext
	refuse(s.RunAsUser != nil, "it chooses its user")
	refuse(s.RunAsGroup != nil, "it chooses its group")
	refuse(s.FSGroup != nil, "it chooses the group of its volumes")
	refuse(s.SELinuxOptions != nil, "it chooses its SELinux label")
	refuse(s.RunAsNonRoot == nil || !*s.RunAsNonRoot, "it may run as root")
	seccomp := s.SeccompProfile
	refuse(seccomp == nil || seccomp.Type != corev1.SeccompProfileTypeRuntimeDefault, "it has another seccomp profile")
	refuse(pod.HostNetwork || pod.HostPID || pod.HostIPC, "it uses a namespace of the node")
	for _, v := range pod.Volumes {
		source := v.VolumeSource
		allowed := source.EmptyDir != nil || source.Secret != nil || source.ConfigMap != nil || source.Projected != nil
		refuse(!allowed, v.Name+" is no volume that it may use")
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		s := c.SecurityContext
		refuse(s.RunAsUser != nil || s.RunAsGroup != nil, c.Name+" chooses its ids")
		refuse(s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation, c.Name+" may gain privileges")
		refuse(s.Privileged != nil && *s.Privileged, c.Name+" is privileged")
		dropsAll := s.Capabilities != nil && slices.Contains(s.Capabilities.Drop, "ALL") && len(s.Capabilities.Add) == 0
		refuse(!dropsAll, c.Name+" keeps capabilities")
		onNode := func(p corev1.ContainerPort) bool { return p.HostPort != 0 }
		refuse(slices.ContainsFunc(c.Ports, onNode), c.Name+" has a port of the node")
	}
	return all
}
