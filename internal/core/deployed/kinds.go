package deployed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
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

// Selects reports whether a workload means an object of its source.
func Selects(w v1alpha1.Workload, o metav1.Object) bool {
	if w.Selector == nil {
		return w.Name == o.GetName()
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector) // the API server does not check the values of its requirements
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(o.GetLabels()))
}

// ownGroups have objects that the manager reads for its task, by rights that nobody granted for workloads. Whoever writes an Environment
// could read them through it, and an Environment that names itself would start runs without end.
var ownGroups = []string{"", "authentication.k8s.io", "authorization.k8s.io", "batch", "coordination.k8s.io", "events.k8s.io", v1alpha1.GroupVersion.Group}

// Allowed returns why an Environment cannot name the workload, or "". Without it, whoever writes an Environment would learn about other
// teams. Team is nil if the namespace has none.
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

// Slim removes what nobody reads from an object that is kept in memory: most of it is the template of its pods and who wrote which field.
func Slim(u *unstructured.Unstructured) {
	u.SetManagedFields(nil)
	annotations := u.GetAnnotations()
	for name := range annotations {
		if strings.HasSuffix(name, "last-applied-configuration") {
			delete(annotations, name)
		}
	}
	u.SetAnnotations(annotations)
	dropVariables(u.Object)
	pod, found, err := unstructured.NestedMap(u.Object, "spec", "template", "spec")
	if err != nil || !found {
		return
	}
	slim := map[string]any{}
	for _, field := range []string{"initContainers", "containers"} {
		if containers, found, err := unstructured.NestedSlice(pod, field); err == nil && found {
			slim[field] = slimContainers(containers)
		}
	}
	_ = unstructured.SetNestedMap(u.Object, slim, "spec", "template", "spec") // it was read from there
}

// dropVariables removes the environment of containers wherever a kind has them: its values may be secret.
func dropVariables(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if _, isList := inner.([]any); isList && name == "env" {
				delete(value, name)
			} else {
				dropVariables(inner)
			}
		}
	case []any:
		for _, inner := range value {
			dropVariables(inner)
		}
	}
}

func slimContainers(containers []any) []any {
	slim := make([]any, 0, len(containers))
	for _, c := range containers {
		if c, ok := c.(map[string]any); ok {
			slim = append(slim, map[string]any{"name": c["name"], "image": c["image"]})
		}
	}
	return slim
}
