package job

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestEssence holds every recorded Job against what is left of it: all that is read says the same.
func TestEssence(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded Jobs: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			j, pods := recorded(t, file)
			e := Essence(j)
			if len(e.Spec.Template.Spec.Containers) > 0 {
				t.Error("the essence holds the containers of the template")
			}
			for reason, both := range map[string][2]any{
				"the outcome":             {Outcome(j, pods), Outcome(e, pods)},
				"the outcome, pods gone":  {Outcome(j, nil), Outcome(e, nil)},
				"the start":               {StartTime(j), StartTime(e)},
				"the end":                 {CompletionTime(j), CompletionTime(e)},
				"the owner":               {metav1.GetControllerOf(j), metav1.GetControllerOf(e)},
				"the files that it needs": {InputsOf(j), InputsOf(e)},
			} {
				if diff := cmp.Diff(both[0], both[1]); diff != "" {
					t.Errorf("%s differs:\n%s", reason, diff)
				}
			}
		})
	}
}
