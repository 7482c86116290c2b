package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// shippedCRDs are those of config/crd, accepted by the API server.
func shippedCRDs(t *testing.T) []apiextensions.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "config", "crd", "bases", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crds := make([]apiextensions.CustomResourceDefinition, len(files))
	for i, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(content, &crds[i]); err != nil {
			t.Fatal(err)
		}
		crds[i].Status.StoredVersions = []string{"v1alpha1"}
		crds[i].Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{{Type: apiextensions.Established, Status: apiextensions.ConditionTrue}}
	}
	return crds
}

func TestCRDs(t *testing.T) {
	type crd = apiextensions.CustomResourceDefinition
	spec := func(c *crd) map[string]apiextensions.JSONSchemaProps {
		return c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	}
	cases := map[string]struct {
		change func(suites *crd)
		level  Level
		says   string
	}{
		"those that are shipped": {func(*crd) {}, OK, "All 12 have every field of this version"},
		"one is missing":         {func(c *crd) { c.Name = "others" }, Failure, "The CRD suites.postflight.dev is missing."},
		"an older one":           {func(c *crd) { delete(spec(c), "supersede") }, Failure, "it lacks spec.supersede, which the API server drops"},
		"an older one, deep within": {func(c *crd) { delete(spec(c)["deployment"].Properties, "pipelineID") }, Failure,
			"it lacks spec.deployment.pipelineID"},
		"an older one, in a list": {func(c *crd) {
			delete(c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["inputs"].Items.Schema.Properties, "etag")
		}, Failure, "it lacks status.inputs[].etag"},
		"a newer one": {func(c *crd) { spec(c)["priority"] = apiextensions.JSONSchemaProps{Type: "integer"} }, Warning, "it also has spec.priority."},
		"another version is served": {func(c *crd) { c.Spec.Versions[0].Name = "v1" }, Failure,
			"does not serve v1alpha1"},
		"it is not accepted":                {func(c *crd) { c.Status.Conditions = nil }, Failure, "does not accept the CRD suites"},
		"objects of a version that we lack": {func(c *crd) { c.Status.StoredVersions = []string{"v1alpha1", "v1"} }, Warning, "are stored as v1, too"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			crds := shippedCRDs(t)
			for i := range crds {
				if crds[i].Spec.Names.Plural == "suites" {
					tc.change(&crds[i])
				}
			}
			found := CRDs(crds)
			if len(found) != 1 || found[0].Level != tc.level || !strings.Contains(found[0].Message, tc.says) {
				t.Errorf("%+v, want one %s that says %q", found, tc.level, tc.says)
			}
		})
	}
}
