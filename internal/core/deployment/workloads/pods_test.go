package workloads

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestDigests(t *testing.T) {
	a, b := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	pod := func(change func(*corev1.Pod), images ...string) corev1.Pod {
		p := corev1.Pod{}
		for i := 0; i < len(images); i += 2 {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: images[i], ImageID: images[i+1]})
		}
		if change != nil {
			change(&p)
		}
		return p
	}
	leaving := func(p *corev1.Pod) { p.DeletionTimestamp = at(0) }
	many := pod(nil)
	for i := range 20 {
		many.Status.ContainerStatuses = append(many.Status.ContainerStatuses, corev1.ContainerStatus{Name: fmt.Sprintf("c%02d", i), ImageID: a})
	}
	for name, tc := range map[string]struct {
		reason string
		pods   []corev1.Pod
		want   string
	}{
		"none":               {"it is known that nothing runs", nil, ""},
		"one":                {"as containerd writes it", []corev1.Pod{pod(nil, "web", "registry:5000/shop@"+a)}, "web " + a},
		"of Docker":          {"with a scheme", []corev1.Pod{pod(nil, "web", "docker-pullable://registry:5000/shop@"+a)}, "web " + a},
		"loaded by hand":     {"an image without a registry has an ID only", []corev1.Pod{pod(nil, "web", b)}, "web " + b},
		"sorted":             {"the status does not flap", []corev1.Pod{pod(nil, "web", b, "proxy", a)}, "proxy " + a + ", web " + b},
		"all agree":          {"that is usual", []corev1.Pod{pod(nil, "web", a), pod(nil, "web", "x@"+a)}, "web " + a},
		"two differ":         {"a tag was overwritten in between", []corev1.Pod{pod(nil, "web", a, "proxy", a), pod(nil, "web", b, "proxy", a)}, "proxy " + a},
		"differ and agree":   {"two against one is no agreement", []corev1.Pod{pod(nil, "web", a), pod(nil, "web", b), pod(nil, "web", a)}, ""},
		"one starts":         {"it has no image yet", []corev1.Pod{pod(nil, "web", a), pod(nil, "web", "")}, ""},
		"the first starts":   {"in whatever order", []corev1.Pod{pod(nil, "web", ""), pod(nil, "web", a)}, ""},
		"one is leaving":     {"it is of the rollout before", []corev1.Pod{pod(leaving, "web", b), pod(nil, "web", a)}, "web " + a},
		"too long":           {"the status has a bound", []corev1.Pod{pod(nil, "web", strings.Repeat("x", 257))}, ""},
		"too many":           {"the first 16", []corev1.Pod{many}, "16"},
		"only in some":       {"a sidecar that was injected", []corev1.Pod{pod(nil, "web", a), pod(nil, "web", a, "mesh", b)}, "mesh " + b + ", web " + a},
		"nothing has status": {"no kubelet has seen it", []corev1.Pod{{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Digests(tc.pods)
			if got == nil {
				t.Error("nil would mean that nobody looked")
			}
			var parts []string
			for _, d := range got {
				parts = append(parts, d.Container+" "+d.Digest)
			}
			text := strings.Join(parts, ", ")
			if tc.want == "16" && len(got) == 16 && got[15].Container == "c15" {
				return
			}
			if diff := cmp.Diff(tc.want, text); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPodsToRead(t *testing.T) {
	recorded := func(ready bool, revision string) *v1alpha1.Environment {
		e := anEnvironment.DeepCopy()
		e.Status.Deployed = []v1alpha1.Deployed{{Workloads: []v1alpha1.DeployedWorkload{{UID: "uid-api"}, {UID: "uid-web", Ready: ready, Revision: revision}}}}
		return e
	}
	for name, tc := range map[string]struct {
		reason string
		of     *v1alpha1.Environment
		change []change
		want   string
	}{
		"without a commit":   {"the status would never say that it is complete", &anEnvironment, []change{set(fields{}, "spec", "template", "metadata", "annotations")}, ""},
		"never seen":         {"its digests are not known", &anEnvironment, nil, "app=web"},
		"was rolled out":     {"it became complete now", recorded(false, "r-"+wholeSHA), nil, "app=web"},
		"another revision":   {"it is complete, and was before", recorded(true, "r-old"), nil, "app=web"},
		"read before":        {"each rollout is read once", recorded(true, "r-"+wholeSHA), nil, ""},
		"in progress":        {"its pods differ", &anEnvironment, []change{rolling}, ""},
		"no containers":      {"an object of Flux has no pods of its own", &anEnvironment, []change{set(fields{}, "spec", "template")}, ""},
		"no selector":        {"nobody knows its pods", &anEnvironment, []change{set("none", "spec", "selector")}, ""},
		"an empty selector":  {"it would mean the pods of all", &anEnvironment, []change{set(fields{}, "spec", "selector")}, ""},
		"a malformed one":    {"it is no label selector", &anEnvironment, []change{set(fields{"matchLabels": "x"}, "spec", "selector")}, ""},
		"an invalid one":     {"an operator without values", &anEnvironment, []change{set(fields{"matchExpressions": []any{fields{"key": "a", "operator": "In"}}}, "spec", "selector")}, ""},
		"one with operators": {"as StatefulSets may have it", &anEnvironment, []change{set(fields{"matchExpressions": []any{fields{"key": "a", "operator": "Exists"}}}, "spec", "selector")}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			selector, needed := PodsToRead(tc.of, Found{Object: aDeployment("web", wholeSHA, tc.change...)})
			if needed != (tc.want != "") || needed && selector.String() != tc.want {
				t.Errorf("%s: %t, %v", tc.reason, needed, selector)
			}
		})
	}
}
