package job

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func needsInputs(in v1alpha1.Inputs) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.Inputs = &in }
}

func TestResolveInputs(t *testing.T) {
	variable := func(value string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Spec.Variables = map[string]string{"APP": value} }
	}
	app := needsInputs(v1alpha1.Inputs{Variables: []string{"APP"}})
	for name, tc := range map[string]struct {
		reason  string
		suite   *v1alpha1.Suite
		trigger *v1alpha1.Trigger
		want    RequiredInputs
		problem string
	}{
		"FileLocation": {
			reason: "The team's id is not part of the path in the pod.",
			suite:  newSuite(variable("acme/builds/app.apk")), trigger: newTrigger(app),
			want: RequiredInputs{Directory: "/run-inputs", Paths: []string{"builds/app.apk"}, Rewritten: map[string]string{"APP": "/run-inputs/builds/app.apk"}},
		},
		"PlaygroundFileLocation": {
			reason: "The path alone names the file too.",
			suite:  newSuite(variable("app.apk")), trigger: newTrigger(app),
			want: RequiredInputs{Directory: "/run-inputs", Paths: []string{"app.apk"}, Rewritten: map[string]string{"APP": "/run-inputs/app.apk"}},
		},
		"OtherTeam": {
			reason: "Another team's fileLocation is a path of this team.",
			suite:  newSuite(variable("other/app.apk")), trigger: newTrigger(app),
			want: RequiredInputs{Directory: "/run-inputs", Paths: []string{"other/app.apk"}, Rewritten: map[string]string{"APP": "/run-inputs/other/app.apk"}},
		},
		"OfTheTrigger": {
			reason: "A variable may come from anywhere; the directory is the Trigger's.",
			suite:  newSuite(), trigger: newTrigger(needsInputs(v1alpha1.Inputs{Variables: []string{"APP"}, Directory: "/in"}),
				func(t *v1alpha1.Trigger) { t.Spec.Variables = map[string]string{"APP": "app.apk"} }),
			want: RequiredInputs{Directory: "/in", Paths: []string{"app.apk"}, Rewritten: map[string]string{"APP": "/in/app.apk"}},
		},
		"NotSet": {
			reason: "It may be for some runs only.",
			suite:  newSuite(), trigger: newTrigger(app),
			want: RequiredInputs{Directory: "/run-inputs", Rewritten: map[string]string{}},
		},
		"PathsAndTheSameFileTwice": {
			reason: "A file is downloaded once.",
			suite:  newSuite(variable("acme/data/users.csv")), trigger: newTrigger(needsInputs(v1alpha1.Inputs{Variables: []string{"APP"}, Paths: []string{"data/users.csv", "terms.pdf"}})),
			want: RequiredInputs{Directory: "/run-inputs", Paths: []string{"data/users.csv", "terms.pdf"}, Rewritten: map[string]string{"APP": "/run-inputs/data/users.csv"}},
		},
		"Traversal":     {reason: "Out of the prefix.", suite: newSuite(variable("acme/../other/app.apk")), trigger: newTrigger(app), problem: "The variable APP does not name an input file"},
		"PathTraversal": {reason: "Out of the prefix.", suite: newSuite(), trigger: newTrigger(needsInputs(v1alpha1.Inputs{Paths: []string{"../x.csv"}})), problem: `The path "../x.csv" in spec.inputs.paths`},
		"Clash":         {reason: "A store has both, a pod cannot.", suite: newSuite(), trigger: newTrigger(needsInputs(v1alpha1.Inputs{Paths: []string{"a.zip/b.csv", "a.zip"}})), problem: `"a.zip" and "a.zip/b.csv" cannot be in one directory`},
	} {
		t.Run(name, func(t *testing.T) {
			got, problem := ResolveInputs(tc.suite, tc.trigger, newEnvironment(), "acme")
			if tc.problem != "" {
				if !strings.Contains(problem, tc.problem) {
					t.Errorf("%s\nproblem %q, want %q", tc.reason, problem, tc.problem)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || problem != "" {
				t.Errorf("%s\n%s\n(-want +got):\n%s", tc.reason, problem, diff)
			}
		})
	}
}

// TestInputsOf reads back what WithInputs wrote, with any characters in the names.
func TestInputsOf(t *testing.T) {
	j := Build(newSuite(), newTrigger(), newEnvironment())
	if got := InputsOf(j); got != nil {
		t.Errorf("a Job without inputs has %v", got)
	}
	path := "größe $(HOME) $$/a+b.apk"
	j = WithInputs(j, Inputs{Directory: "/run-inputs", Files: []File{{Path: path, URL: "https://s3.example.com/$x", ETag: "e", Size: 7}}})
	if diff := cmp.Diff([]v1alpha1.SuiteInput{{Path: path, ETag: "e", Size: 7}}, InputsOf(j)); diff != "" {
		t.Error(diff)
	}
}
