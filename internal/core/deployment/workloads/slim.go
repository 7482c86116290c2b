package workloads

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Slim removes what is never read from an object that is kept in memory, mostly the template of its pods and its managed fields.
func Slim(u *unstructured.Unstructured) {
	u.SetManagedFields(nil)
	u.SetAnnotations(slimAnnotations(u.GetAnnotations()))
	u.SetLabels(SlimLabels(u.GetLabels(), maxAnnotationsBytes))
	ofPods := []string{"spec", "template", "metadata", "annotations"}
	if annotations, found, err := unstructured.NestedStringMap(u.Object, ofPods...); err == nil && found {
		_ = unstructured.SetNestedStringMap(u.Object, slimAnnotations(annotations), ofPods...) // it was read from there
	}
	dropVariables(u.Object)
	for _, inventory := range [][]string{{"status", "resources"}, {"status", "operationState", "syncResult", "resources"}} {
		unstructured.RemoveNestedField(u.Object, inventory...)
	}
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

const (
	// maxAnnotationBytes is more than any value may have that is read from one: an expression may take a part.
	maxAnnotationBytes = 4 << 10

	// maxAnnotationsBytes are those of an object, or of its pods, the shortest first: commits and revisions are short. Kubernetes allows
	// 256 KiB.
	maxAnnotationsBytes = 16 << 10
)

func slimAnnotations(all map[string]string) map[string]string {
	for name, value := range all {
		if strings.HasSuffix(name, "last-applied-configuration") || len(name)+len(value) > maxAnnotationBytes {
			delete(all, name)
		}
	}
	return SlimLabels(all, maxAnnotationsBytes)
}

// SlimLabels keeps the shortest that have so many bytes together. Kubernetes does not bound the number of labels.
func SlimLabels(all map[string]string, max int) map[string]string {
	size := func(name string) int { return len(name) + len(all[name]) }
	shorter := func(a, b string) int { return cmp.Or(cmp.Compare(size(a), size(b)), strings.Compare(a, b)) }
	bytes := 0
	for name := range all {
		bytes += size(name)
	}
	if bytes <= max {
		return all
	}
	bytes = 0
	for _, name := range slices.SortedFunc(maps.Keys(all), shorter) {
		if bytes += size(name); bytes > max {
			delete(all, name)
		}
	}
	return all
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
