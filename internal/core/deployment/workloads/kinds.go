package workloads

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const defaultKind = "Deployment"

// knownKinds need no apiVersion. The schema of Workload lists them, too.
var knownKinds = map[string]string{
	"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1",
	"Rollout": "argoproj.io/v1alpha1", "Application": "argoproj.io/v1alpha1",
	"Kustomization": "kustomize.toolkit.fluxcd.io/v1", "HelmRelease": "helm.toolkit.fluxcd.io/v2",
}

// Source is what has to be watched for a workload.
type Source struct {
	schema.GroupVersionKind
	Namespace string
}

// SourceOf returns where the objects of a workload of an Environment are.
func SourceOf(e *v1alpha1.Environment, w v1alpha1.Workload) Source {
	kind := cmp.Or(w.Kind, defaultKind)
	return Source{
		GroupVersionKind: schema.FromAPIVersionAndKind(cmp.Or(w.APIVersion, knownKinds[kind]), kind),
		Namespace:        cmp.Or(w.Namespace, e.Namespace),
	}
}

// ownGroups have objects that the manager may read for its own task. Without this list, anyone who can edit an Environment could read them
// through it, and an Environment that names itself would start runs without end.
var ownGroups = []string{"", "authentication.k8s.io", "authorization.k8s.io", "batch", "coordination.k8s.io", "events.k8s.io",
	v1alpha1.GroupVersion.Group}

// Allowed returns why an Environment cannot name the workload, or "". Without it, anyone who can edit an Environment could learn about
// other teams. Team is nil if the namespace has none.
func Allowed(team *v1alpha1.Team, source Source, e *v1alpha1.Environment, name string) string {
	if slices.Contains(ownGroups, source.Group) {
		return fmt.Sprintf("Objects of kind %s in %s cannot be workloads.", source.Kind, source.GroupVersion())
	}
	if source.Namespace == e.Namespace {
		return ""
	}
	if team != nil {
		for _, other := range team.Spec.WorkloadNamespaces {
			if other.Name == source.Namespace && (len(other.Workloads) == 0 || name == "" || slices.Contains(other.Workloads, name)) {
				return ""
			}
		}
	}
	what := "namespace " + source.Namespace
	if name != "" {
		what = source.Kind + " " + name + " in " + what
	}
	return "The team's Environments cannot name workloads of other namespaces: ask your operator to list " + what +
		" in spec.workloadNamespaces of the Team."
}

// allowedNames are those of the objects of another namespace that Environments of the team may name; nil: all.
func allowedNames(team *v1alpha1.Team, namespace string) []string {
	names := []string{}
	if team == nil {
		return names
	}
	for _, other := range team.Spec.WorkloadNamespaces {
		switch {
		case other.Name != namespace:
		case len(other.Workloads) == 0:
			return nil
		default:
			names = append(names, other.Workloads...)
		}
	}
	return names
}
