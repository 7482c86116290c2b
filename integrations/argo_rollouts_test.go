package integrations

import (
	"bytes"
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
		if template.Kind != "AnalysisTemplate" {
			continue
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
	checkAnalysisJob(t, templates["postflight"].Spec.Metrics[0].Provider.Job.Spec, "/postflight notify --wait --no-detect --timeout=55m")
	checkAnalysisJob(t, templates["postflight-run"].Spec.Metrics[0].Provider.Job.Spec, "/postflight wait --timeout=55m -- $(RUN)")
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

// checkAnalysisJob: the Job waits for runs, and less long than its pod may run, so that it says why it ended.
func checkAnalysisJob(t *testing.T, job batchv1.JobSpec, want string) {
	t.Helper()
	checkJob(t, analysisFile, job)
	command := strings.Join(job.Template.Spec.Containers[0].Command, " ")
	if command != want {
		t.Errorf("%q, want %q", command, want)
	}
	deadline := time.Duration(*job.ActiveDeadlineSeconds) * time.Second
	if wait := timeoutIn(t, command); wait >= deadline {
		t.Errorf("postflight waits %s, and Kubernetes stops it after %s", wait, deadline)
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
