package integrations

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

type analysisArgument struct {
	Name  string
	Value *string
}

type analysisTemplate struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Args    []analysisArgument
		Metrics []struct {
			Name, Interval                     string
			Count                              int
			SuccessCondition, FailureCondition string
			Provider                           struct {
				Web struct{ Method, URL string }
				Job struct{ Spec batchv1.JobSpec }
			}
		}
	}
}

const analysisFile = "argo-rollouts/analysis.yaml"

// analysisTemplates are the templates of the file by name, with the default of url in its place.
func analysisTemplates(t *testing.T) map[string]analysisTemplate {
	t.Helper()
	templates := map[string]analysisTemplate{}
	for document := range bytes.SplitSeq(read(t, analysisFile), []byte("\n---\n")) {
		var template analysisTemplate
		if err := yaml.Unmarshal(document, &template); err != nil {
			t.Fatal(err)
		}
		var declared []string
		for _, a := range template.Spec.Args {
			declared = append(declared, a.Name)
			if a.Name == "url" {
				document = bytes.ReplaceAll(document, []byte("{{args.url}}"), []byte(*a.Value))
				declared = declared[:len(declared)-1]
			}
		}
		checkPlaceholders(t, uncommented(document), `{{args\.([a-z-]+)}}`, declared)
		if err := yaml.Unmarshal(document, &template); err != nil {
			t.Fatal(err)
		}
		templates[template.Metadata.Name] = template
	}
	return templates
}

// TestArgoRollouts: each template decides by one metric. Several have no order: while one that notifies is repeated after an error,
// another that lists runs finds those that the commit had elsewhere.
func TestArgoRollouts(t *testing.T) {
	templates := analysisTemplates(t)
	if len(templates) != 2 {
		t.Fatalf("%d templates, want 2", len(templates))
	}
	for name, template := range templates {
		if template.APIVersion != "argoproj.io/v1alpha1" || template.Kind != "AnalysisTemplate" || len(template.Spec.Metrics) != 1 {
			t.Fatalf("%s: %s with %d metrics, want an AnalysisTemplate with one", name, template.Kind, len(template.Spec.Metrics))
		}
		if metric := template.Spec.Metrics[0]; metric.Interval != "" && metric.Count == 0 {
			t.Errorf("%s: Argo Rollouts refuses a metric without an end as a step", name)
		}
	}
	checkAnalysisJob(t, templates["postflight"].Spec.Metrics[0].Provider.Job.Spec)
	checkAnalysisRequest(t, templates["postflight-run"])
	page := string(read(t, "../docs/argo-rollouts.md"))
	example := "metadata:\n" + strings.TrimSuffix(between(t, page, "     labels: {sha:", "   ```"), "   ")
	var rollout struct {
		Spec struct {
			Strategy struct {
				Canary struct {
					Steps []struct {
						Analysis struct {
							Templates []struct{ TemplateName string }
							Args      []analysisArgument
						}
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(example, "\n   ", "\n")), &rollout); err != nil {
		t.Fatal(err)
	}
	for _, step := range rollout.Spec.Strategy.Canary.Steps {
		for _, used := range step.Analysis.Templates {
			checkArguments(t, "docs/argo-rollouts.md", step.Analysis.Args, templates[used.TemplateName])
		}
	}
}

// checkAnalysisJob: the Job waits for what it reports, and less long than its pod may run, so that it says why it ended.
func checkAnalysisJob(t *testing.T, job batchv1.JobSpec) {
	t.Helper()
	checkJob(t, analysisFile, job)
	command := job.Template.Spec.Containers[0].Command
	if !slices.Contains(command, "notify") || !slices.Contains(command, "--wait") {
		t.Errorf("%v does not wait for the runs that it starts", command)
	}
	deadline := time.Duration(*job.ActiveDeadlineSeconds) * time.Second
	if wait := timeoutIn(t, strings.Join(command, " ")); wait >= deadline {
		t.Errorf("postflight waits %s, and Kubernetes stops it after %s", wait, deadline)
	}
}

// checkAnalysisRequest compares the request with the API. What the conditions make of its answers is tested in internal/server/api.
func checkAnalysisRequest(t *testing.T, template analysisTemplate) {
	t.Helper()
	openapi, err := os.ReadFile(filepath.Join("..", "internal", "server", "api", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var api struct{ Paths map[string]map[string]any }
	if err := yaml.Unmarshal(openapi, &api); err != nil {
		t.Fatal(err)
	}
	metric := template.Spec.Metrics[0]
	path, _, _ := strings.Cut(strings.TrimPrefix(metric.Provider.Web.URL, *template.Spec.Args[0].Value), "?")
	path = strings.ReplaceAll(path, "{{args.run}}", "{id}")
	if metric.Provider.Web.Method != "" || api.Paths[path]["get"] == nil {
		t.Errorf("%s: the API has no GET %s", metric.Name, path)
	}
}

// checkArguments: what uses a template gives it what it demands, and nothing that it does not know.
func checkArguments(t *testing.T, path string, args []analysisArgument, template analysisTemplate) {
	t.Helper()
	var given []string
	for _, a := range args {
		given = append(given, a.Name)
	}
	for _, a := range template.Spec.Args {
		if a.Value == nil && !slices.Contains(given, a.Name) {
			t.Errorf("%s: the template demands %s", path, a.Name)
		}
		given = slices.DeleteFunc(given, func(name string) bool { return name == a.Name })
	}
	if len(given) > 0 {
		t.Errorf("%s: the template %q has no arguments %v", path, template.Metadata.Name, given)
	}
}
