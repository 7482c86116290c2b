package job

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// InTemplate reports whether a container comes from the jobTemplate or from Postflight. Build gives each of these its variables; containers
// that others inject, such as a service mesh, lack them.
func InTemplate(pod *corev1.PodSpec, container string) bool {
	known := false
	for c := range Containers(pod) {
		if c.Name == container && (hasVariables(c) || IsOwn(c.Name)) {
			return true
		}
		known = known || hasVariables(c)
	}
	return !known
}

func hasVariables(c *corev1.Container) bool {
	return slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == variableSuiteID })
}
