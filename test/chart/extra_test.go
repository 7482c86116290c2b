package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/test/tier"
)

// TestExtraObjects: manifests and text are both templates.
func TestExtraObjects(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	rendered, err := template(t, release, namespace, "--values", path(t, "charts", "postflight", "ci", "ha-values.yaml"),
		"--show-only", "templates/extra_objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for name, object := range objects(t, rendered) {
		if object.GetNamespace() != namespace {
			t.Errorf("%s is in the namespace %q", name, object.GetNamespace())
		}
		got[name] = object.Object["data"]
	}
	want := map[string]any{
		"ConfigMap postflight-contact": map[string]any{"team": "platform"},
		"ConfigMap text":               map[string]any{"kubernetes.io.os": "linux"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
