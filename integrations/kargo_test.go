package integrations

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

type kargoArgument struct {
	Name  string
	Value *string
}

type kargoAnalysis struct {
	Metadata struct{ Name string }
	Spec     struct {
		Args    []kargoArgument
		Metrics []struct {
			Provider struct {
				Job struct{ Spec batchv1.JobSpec }
			}
		}
	}
}

type kargoVerification struct {
	AnalysisTemplates []struct{ Name string }
	Args              []kargoArgument
}

// TestKargo: the Stage gives the template what it demands, and nothing that it does not know, which Kargo 1.11 drops without a word.
func TestKargo(t *testing.T) {
	var template kargoAnalysis
	var stage struct {
		Spec struct{ Verification kargoVerification }
	}
	if err := yaml.Unmarshal(read(t, "kargo/analysis.yaml"), &template); err != nil || len(template.Spec.Metrics) != 1 {
		t.Fatalf("%v: %+v", err, template)
	}
	if err := yaml.Unmarshal(read(t, "kargo/stage.yaml"), &stage); err != nil {
		t.Fatal(err)
	}
	checkJob(t, "kargo/analysis.yaml", template.Spec.Metrics[0].Provider.Job.Spec)
	var declared []string
	for _, a := range template.Spec.Args {
		declared = append(declared, a.Name)
	}
	checkPlaceholders(t, uncommented(read(t, "kargo/analysis.yaml")), `{{args\.([a-z-]+)}}`, slices.Clone(declared))
	checkVerification(t, "kargo/stage.yaml", stage.Spec.Verification, template)

	var shown struct{ Verification kargoVerification }
	page := string(read(t, "../docs/kargo.md"))
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(between(t, page, "   verification:\n", "   ```"), "\n   ", "\n")[3:]), &shown); err != nil {
		t.Fatal(err)
	}
	checkVerification(t, "docs/kargo.md", shown.Verification, template)
}

func checkVerification(t *testing.T, path string, v kargoVerification, template kargoAnalysis) {
	t.Helper()
	if len(v.AnalysisTemplates) != 1 || v.AnalysisTemplates[0].Name != template.Metadata.Name {
		t.Errorf("%s: %+v, and the template is %s", path, v.AnalysisTemplates, template.Metadata.Name)
	}
	given := map[string]string{}
	for _, a := range v.Args {
		given[a.Name] = *a.Value
	}
	for _, a := range template.Spec.Args {
		if a.Value == nil && given[a.Name] == "" {
			t.Errorf("%s: the template demands %s", path, a.Name)
		}
		delete(given, a.Name)
	}
	for name := range given {
		t.Errorf("%s: the template has no argument %s", path, name)
	}
	for _, a := range v.Args {
		// Kargo reads what an expression returns as JSON, and fails for an argument that is no string: a tag of digits.
		if strings.Contains(*a.Value, "${{") && !strings.Contains(*a.Value, "${{ quote(") {
			t.Errorf("%s: %s of digits is a number to Kargo: %s", path, a.Name, *a.Value)
		}
	}
}
