package integrations

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

type analysisTemplate struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Args    []struct{ Name string }
		Metrics []struct {
			Name                               string
			Count, InconclusiveLimit           int
			SuccessCondition, FailureCondition string
			Provider                           struct{ Web struct{ Method, URL string } }
		}
	}
}

// TestArgoRollouts compares the metrics with the API. What their conditions make of its answers is tested in
// internal/server/api.
func TestArgoRollouts(t *testing.T) {
	openapi, err := os.ReadFile(filepath.Join("..", "internal", "server", "api", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var api struct{ Paths map[string]map[string]any }
	if err := yaml.Unmarshal(openapi, &api); err != nil {
		t.Fatal(err)
	}
	documents := bytes.Split(read(t, "argo-rollouts/analysis.yaml"), []byte("\n---\n"))
	if len(documents) != 2 {
		t.Fatalf("%d documents, want 2", len(documents))
	}
	for _, document := range documents {
		var template analysisTemplate
		if err := yaml.Unmarshal(document, &template); err != nil {
			t.Fatal(err)
		}
		if template.APIVersion != "argoproj.io/v1alpha1" || template.Kind != "AnalysisTemplate" || len(template.Spec.Metrics) == 0 {
			t.Errorf("%+v is no AnalysisTemplate", template)
		}
		for _, metric := range template.Spec.Metrics {
			if metric.Count == 0 {
				t.Errorf("%s: Argo Rollouts refuses a metric without an end as a step", metric.Name)
			}
			path, _, _ := strings.Cut(strings.TrimPrefix(metric.Provider.Web.URL, "{{args.url}}"), "?")
			path = strings.ReplaceAll(path, "{{args.run}}", "{id}")
			method := strings.ToLower(metric.Provider.Web.Method)
			if method == "" {
				method = strings.ToLower(http.MethodGet)
			}
			if api.Paths[path][method] == nil {
				t.Errorf("%s: the API has no %s %s", metric.Name, method, path)
			}
			// An unquoted # would begin a comment of YAML, and cut the condition off.
			for _, condition := range []string{metric.SuccessCondition, metric.FailureCondition} {
				if strings.Count(condition, "{") != strings.Count(condition, "}") {
					t.Errorf("%s: the condition %q is cut off", metric.Name, condition)
				}
			}
			if metric.Name == "runs" {
				checkEndedStates(t, metric.FailureCondition)
			}
		}
	}
}

// checkEndedStates: a run that ended in any other way than Passed ends the analysis.
func checkEndedStates(t *testing.T, condition string) {
	t.Helper()
	for _, state := range []string{
		v1alpha1.ReasonFailed, v1alpha1.ReasonTimedOut, v1alpha1.ReasonCanceled, v1alpha1.ReasonSuperseded, v1alpha1.ReasonError,
	} {
		if !strings.Contains(condition, `"`+state+`"`) {
			t.Errorf("%s does not fail the analysis: %s", state, condition)
		}
	}
}
