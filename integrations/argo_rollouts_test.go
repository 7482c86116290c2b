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
	Name      string
	Value     *string
	ValueFrom *struct{ SecretKeyRef *struct{ Name, Key string } }
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
				Web struct{ URL string }
			}
		}
	}
}

const (
	analysisFile = "argo-rollouts/analysis.yaml"
	verdictFile  = "argo-rollouts/verdict.yaml"
)

// analysisTemplates are the templates of both files by name, with the default of url in its place.
func analysisTemplates(t *testing.T) map[string]analysisTemplate {
	t.Helper()
	templates := map[string]analysisTemplate{}
	both := slices.Concat(read(t, analysisFile), []byte("\n---\n"), read(t, verdictFile))
	for document := range bytes.SplitSeq(both, []byte("\n---\n")) {
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
	if len(templates) != 4 {
		t.Fatalf("%d templates, want 4", len(templates))
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
	gate := templates["postflight-gate"].Spec.Metrics[0].Provider.Job.Spec
	if *gate.BackoffLimit == 0 {
		t.Error("the gate fails before the other template has asked twice, and the AnalysisRun does not say why")
	}
	gate.BackoffLimit = new(int32(0)) // it asks, and repeats no run
	checkAnalysisJob(t, gate, "/postflight gate --wait --timeout=55m --no-detect --sha=$(COMMIT) --environment=$(ENVIRONMENT) --repository=$(REPOSITORY) "+
		"--service=$(SERVICE)")
	verdict := templates["postflight-verdict"].Spec.Metrics[0]
	wait, err := time.ParseDuration(verdict.Interval)
	if err != nil || wait*time.Duration(verdict.Count) != timeoutIn(t, strings.Join(gate.Template.Spec.Containers[0].Command, " ")) {
		t.Errorf("%v: the two templates wait differently: %d times %s", err, verdict.Count, wait)
	}
	if !strings.Contains(verdict.Provider.Web.URL, "/api/v0/verdict?") {
		t.Errorf("%s is not the verdict", verdict.Provider.Web.URL)
	}
}

// TestArgoRolloutsSteps: the steps that the page and the comments show give the templates what these demand.
func TestArgoRolloutsSteps(t *testing.T) {
	steps := 0
	for _, file := range []string{"../docs/argo-rollouts.md", analysisFile, verdictFile} {
		for _, rest := range strings.Split(string(read(t, file)), "- analysis:\n")[1:] {
			rest = strings.ReplaceAll("\n"+rest, "\n#", "\n ")[1:]
			indent := rest[:len(rest)-len(strings.TrimLeft(rest, " "))]
			step := "analysis:\n"
			for line := range strings.Lines(rest) {
				if !strings.HasPrefix(line, indent) {
					break
				}
				step += "  " + strings.TrimPrefix(line, indent)
			}
			steps++
			checkAnalysisStep(t, file, step)
		}
	}
	if steps != 4 {
		t.Errorf("%d steps were found, want 4", steps)
	}
}

func checkAnalysisStep(t *testing.T, path, step string) {
	t.Helper()
	var shown struct {
		Analysis struct {
			Templates []struct{ TemplateName string }
			Args      []analysisArgument
		}
	}
	if err := yaml.Unmarshal([]byte(step), &shown); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, step)
	}
	checkArguments(t, path, shown.Analysis.Args, together(t, path, shown.Analysis.Templates))
}

// together is what Argo Rollouts makes of several templates: the arguments of all.
func together(t *testing.T, path string, used []struct{ TemplateName string }) (all analysisTemplate) {
	t.Helper()
	templates := analysisTemplates(t)
	for _, u := range used {
		template, found := templates[u.TemplateName]
		if !found {
			t.Errorf("%s: there is no template %s", path, u.TemplateName)
		}
		all.Metadata.Name += u.TemplateName + " "
		for _, a := range template.Spec.Args {
			if !slices.ContainsFunc(all.Spec.Args, func(other analysisArgument) bool { return other.Name == a.Name }) {
				all.Spec.Args = append(all.Spec.Args, a)
			}
		}
	}
	if len(used) == 0 {
		t.Errorf("%s: no template", path)
	}
	return all
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
		if a.Value == nil && a.ValueFrom == nil && !slices.Contains(given, a.Name) {
			t.Errorf("%s: the template demands %s", path, a.Name)
		}
		given = slices.DeleteFunc(given, func(name string) bool { return name == a.Name })
	}
	if len(given) > 0 {
		t.Errorf("%s: the template %q has no arguments %v", path, template.Metadata.Name, given)
	}
}
