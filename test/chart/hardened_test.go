package chart

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// weaknesses are what scanners of manifests complain about, beyond the Pod Security Standard restricted, which the API
// server checks.
func weaknesses(d *appsv1.Deployment) (all []string) {
	pod := &d.Spec.Template.Spec
	add := func(weak bool, what string) {
		if weak {
			all = append(all, what)
		}
	}
	add(pod.AutomountServiceAccountToken == nil, "the pod does not say whether it needs a token")
	add(pod.EnableServiceLinks == nil || *pod.EnableServiceLinks, "the Services of the namespace are in the environment")
	add(pod.HostUsers != nil && *pod.HostUsers, "it asks for the users of the node")
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		s := c.SecurityContext
		add(s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem, c.Name+" may write to its image")
		add(s == nil || s.Capabilities == nil || len(s.Capabilities.Add) > 0, c.Name+" has capabilities")
		add(c.Resources.Limits.Memory().IsZero(), c.Name+" has no memory limit")
		add(c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero(), c.Name+" requests no CPU or memory")
		add(c.ReadinessProbe == nil || c.LivenessProbe == nil, c.Name+" has no probes")
	}
	for _, v := range pod.Volumes {
		add(v.EmptyDir != nil && v.EmptyDir.SizeLimit == nil, v.Name+" may fill the disk of the node")
	}
	user := pod.SecurityContext.RunAsUser
	add(user == nil || *user < 10000, "it may have the id of a user of the node")
	return all
}

// checkHardened looks at the Deployments and accounts of a flavour. assigned: the platform gives the pods their user.
func checkHardened(t *testing.T, all map[string]*unstructured.Unstructured, assigned bool) {
	t.Helper()
	for name, object := range all {
		switch object.GetKind() {
		case "Deployment":
			d := &appsv1.Deployment{}
			convert(t, object, d)
			d.Spec.Template.Spec.Volumes = slices.DeleteFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "extra" }) // a user's
			if security := d.Spec.Template.Spec.SecurityContext; assigned && security.RunAsUser == nil {
				security.RunAsUser = new(int64(1_000_650_000)) // as OpenShift does
			}
			if diff := cmp.Diff([]string(nil), weaknesses(d)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		case "ServiceAccount":
			account := &corev1.ServiceAccount{}
			convert(t, object, account)
			if account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
				t.Errorf("%s gives its token to every pod that uses it", name)
			}
		}
	}
}

func convert(t *testing.T, from *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, into); err != nil {
		t.Fatal(err)
	}
}

// TestWeaknessesAreFound: a Deployment that says nothing has them all.
func TestWeaknessesAreFound(t *testing.T) {
	d := &appsv1.Deployment{}
	d.Spec.Template.Spec = corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{}, HostUsers: new(true), Containers: []corev1.Container{{Name: "c"}},
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	}
	if got := weaknesses(d); len(got) != 10 {
		t.Errorf("found %q, want 10", got)
	}
}
