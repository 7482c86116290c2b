package chart

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/test/tier"
)

// TestOpenShift: the SCC restricted-v2 admits the pod with the values for OpenShift, and assigns its ids.
func TestOpenShift(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	values := path(t, "charts", "postflight", "ci", "openshift-values.yaml")
	for name, args := range map[string][]string{
		"the flavour": {"--values", values},
		"with Secrets and HTTPS": {"--values", values, "--set", "tls.enabled=true,tls.existingSecret=a,tls.ca.existingSecret=a,store.existingSecret=a",
			"--set", "route.tls.termination=reencrypt"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := deployment(t, args...).Spec.Template.Spec
			if diff := cmp.Diff([]string(nil), refusals(&pod)); diff != "" {
				t.Errorf("restricted-v2 refuses the pod (-want +got):\n%s", diff)
			}
		})
	}
	pod := deployment(t).Spec.Template.Spec
	if diff := cmp.Diff([]string{"it chooses its user", "it chooses its group", "it chooses the group of its volumes"}, refusals(&pod)); diff != "" {
		t.Errorf("with the default values (-want +got):\n%s", diff)
	}
}

// refusals are what restricted-v2 refuses in a pod, and a group, which it allows, but does not assign beside one of the pod.
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
	refuse(s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault, "it has another seccomp profile")
	refuse(pod.HostNetwork || pod.HostPID || pod.HostIPC, "it uses a namespace of the node")
	for _, v := range pod.Volumes {
		source := v.VolumeSource
		refuse(source.EmptyDir == nil && source.Secret == nil && source.ConfigMap == nil && source.Projected == nil, v.Name+" is no volume that it may use")
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		s := c.SecurityContext
		refuse(s.RunAsUser != nil || s.RunAsGroup != nil, c.Name+" chooses its ids")
		refuse(s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation, c.Name+" may gain privileges")
		refuse(s.Privileged != nil && *s.Privileged, c.Name+" is privileged")
		refuse(s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0, c.Name+" keeps capabilities")
		refuse(slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 }), c.Name+" has a port of the node")
	}
	return all
}
