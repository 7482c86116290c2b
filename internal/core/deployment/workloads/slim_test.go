package workloads

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestSlimAnnotations: however many annotations an object and its pods have, the short ones stay, which name commits and revisions.
func TestSlimAnnotations(t *testing.T) {
	all := map[string]any{"z.example/commit": wholeSHA, "long": strings.Repeat("x", maxAnnotationBytes)}
	for i := range 100 {
		all[fmt.Sprint("a.example/", i)] = strings.Repeat("x", 1000)
	}
	o := aDeployment("web", wholeSHA, set(all, "metadata", "annotations"), set(all, "spec", "template", "metadata", "annotations"))
	Slim(o)
	ofPods, _, err := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "annotations")
	for name, kept := range map[string]map[string]string{"object": o.GetAnnotations(), "pods": ofPods} {
		bytes := 0
		for name, value := range kept {
			bytes += len(name) + len(value)
		}
		if err != nil || kept["z.example/commit"] != wholeSHA || kept["long"] != "" || bytes > maxAnnotationsBytes || bytes < maxAnnotationsBytes-1100 {
			t.Errorf("%s: %d bytes, %v", name, bytes, err)
		}
	}
}
