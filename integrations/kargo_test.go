package integrations

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type kargoVerification struct {
	AnalysisTemplates []struct{ Name string }
	Args              []analysisArgument
}

// TestKargo: the Stage gives the template what it demands, and nothing that it does not know, which Kargo 1.11 drops without a word.
func TestKargo(t *testing.T) {
	var stage struct {
		Spec struct{ Verification kargoVerification }
	}
	if err := yaml.Unmarshal(read(t, "kargo/stage.yaml"), &stage); err != nil {
		t.Fatal(err)
	}
	checkVerification(t, "kargo/stage.yaml", stage.Spec.Verification)

	var shown struct{ Verification kargoVerification }
	page := string(read(t, "../docs/kargo.md"))
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(between(t, page, "   verification:\n", "   ```"), "\n   ", "\n")[3:]), &shown); err != nil {
		t.Fatal(err)
	}
	checkVerification(t, "docs/kargo.md", shown.Verification)
}

func checkVerification(t *testing.T, path string, v kargoVerification) {
	t.Helper()
	var used []struct{ TemplateName string }
	for _, template := range v.AnalysisTemplates {
		used = append(used, struct{ TemplateName string }{template.Name})
	}
	checkArguments(t, path, v.Args, together(t, path, used))
	for _, a := range v.Args {
		// Kargo reads what an expression returns as JSON, and fails for an argument that is no string: a tag of digits.
		if strings.Contains(*a.Value, "${{") && !strings.Contains(*a.Value, "${{ quote(") {
			t.Errorf("%s: %s of digits is a number to Kargo: %s", path, a.Name, *a.Value)
		}
	}
}
