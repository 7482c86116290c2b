package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// maxCRD leaves room for a second version of the same shape in the annotation of a client-side apply, which has at most 256 KiB
// together with all others of the object.
const maxCRD = 125_000

// TestSizeOfCRDs: kubectl apply and Argo CD need no option for the CRDs.
func TestSizeOfCRDs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(folder(t, "crd"), "bases", "*.yaml"))
	if err != nil || len(files) != 12 {
		t.Fatalf("%d CRDs: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(crd) > maxCRD {
			t.Errorf("%s has %d bytes as JSON, more than %d", filepath.Base(file), len(crd), maxCRD)
		}
	}
}

// TestExplainOfJobTemplate: its own description stays, those of the Job's fields are Kubernetes'.
func TestExplainOfJobTemplate(t *testing.T) {
	s := apiserver.New(t)
	out, err := s.Kubectl(t, "explain", "trigger.spec.jobTemplate")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "backoffLimit defaults to 0") || !strings.Contains(out, "kubectl explain job") {
		t.Errorf("kubectl explain trigger.spec.jobTemplate prints:\n%s", out)
	}
}

// TestClassesHaveTheBoundsOfTriggers: what a TriggerClass may set, a Trigger may set, too, within the same bounds. Descriptions may differ.
func TestClassesHaveTheBoundsOfTriggers(t *testing.T) {
	properties := func(name string) map[string]any {
		var crd map[string]any
		must(t, yaml.Unmarshal([]byte(read(t, "config/crd/bases/postflight.dev_"+name+".yaml")), &crd))
		versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
		must(t, err)
		all, _, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties")
		must(t, err)
		for _, property := range all {
			delete(property.(map[string]any), "description")
		}
		return all
	}
	trigger := properties("triggers")
	for name, class := range properties("triggerclasses") {
		if diff := cmp.Diff(trigger[name], class); diff != "" {
			t.Errorf("%s: -Trigger +TriggerClass\n%s", name, diff)
		}
	}
}
