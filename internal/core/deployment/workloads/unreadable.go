package workloads

import "fmt"

// The sentences why the objects of a source cannot be read.

// NoKind says that the cluster lacks the kind.
func NoKind(s Source) string {
	return fmt.Sprintf("The cluster has no kind %s in %s.", s.Kind, s.GroupVersion())
}

// NotNamespaced says that objects of the kind cannot be workloads.
func NotNamespaced(s Source, scope string) string {
	return fmt.Sprintf("Objects of kind %s belong to no namespace: their scope is %s.", s.Kind, scope)
}

// MayNotRead says that the manager lacks a right, and how to give it.
func MayNotRead(s Source) string {
	role := "a Role that lists and watches them"
	if name := readerRole(s); name != "" {
		role = "the ClusterRole " + name
	}
	return fmt.Sprintf("The manager may not read objects of kind %s in namespace %s. Allow it there with a RoleBinding to %s.", s.Kind, s.Namespace, role)
}

// readerRole returns the shipped role that lets the manager read a source, or "".
func readerRole(s Source) string {
	switch s.Group {
	case "apps":
		return "postflight-workloads-reader"
	case "argoproj.io", "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io":
		return "postflight-gitops-reader"
	default:
		return ""
	}
}
