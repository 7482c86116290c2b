package integrations

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

type input struct {
	Default     *string
	Description string
}

func (i input) value() string {
	if i.Default == nil {
		return "(required)"
	}
	return *i.Default
}

func inputsOfAction(t *testing.T) map[string]input {
	t.Helper()
	var action struct{ Inputs map[string]input }
	if err := yaml.Unmarshal(read(t, "github/action.yml"), &action); err != nil {
		t.Fatal(err)
	}
	return action.Inputs
}

func inputsOfTemplate(t *testing.T) map[string]input {
	t.Helper()
	var spec struct {
		Spec struct{ Inputs map[string]input }
	}
	head, _, _ := bytes.Cut(read(t, "gitlab/template.yml"), []byte("\n---\n"))
	if err := yaml.Unmarshal(head, &spec); err != nil {
		t.Fatal(err)
	}
	return spec.Spec.Inputs
}

// TestSameInputs: who knows the action knows the template and the Task. What only one of them has is listed here, with the reason.
func TestSameInputs(t *testing.T) {
	action, template, task := inputsOfAction(t), inputsOfTemplate(t), map[string]string{}
	var tekton tektonTask
	decodeOne(t, "tekton/task.yaml", "Task", &tekton)
	for _, p := range tekton.Spec.Params {
		task[p.Name] = input{Default: p.Default}.value()
	}
	want, gotTemplate, wantTask, gotTask := map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	for name, i := range action {
		if name == "api-key" { // in GitLab a variable of the project; Tekton needs none
			continue
		}
		want[name] = i.value()
		// The image of the Task has the command line and no shell; a variable for the runs would be text of args.
		if !slices.Contains([]string{"version", "junit", "variables"}, name) {
			wantTask[name] = i.value()
		}
	}
	want["junit"] = "postflight.xml" // GitLab shows it only if it knows the name
	wantTask["timeout"] = "55m"      // Tekton ends a TaskRun after an hour
	for name, i := range template {
		if !slices.Contains([]string{"job-name", "stage", "image"}, name) { // of the job
			gotTemplate[name] = i.value()
		}
	}
	for name, value := range task {
		if !slices.Contains([]string{"allow-http"}, name) { // in CI, a variable of the project
			gotTask[name] = value
		}
	}
	if diff := cmp.Diff(want, gotTemplate); diff != "" {
		t.Errorf("inputs of the action (-), of the template (+):\n%s", diff)
	}
	if diff := cmp.Diff(wantTask, gotTask); diff != "" {
		t.Errorf("inputs of the action (-), params of the Task (+):\n%s", diff)
	}
}
