package job

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStripJob reads every recorded Job with and without its template: the results are the same.
func TestStripJob(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded Jobs: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			j, pods := recorded(t, file)
			e := StripJob(j)
			if len(e.Spec.Template.Spec.Containers) > 0 {
				t.Error("it keeps the containers of the template")
			}
			for reason, both := range map[string][2]any{
				"the state":               {Observe(j, pods).Condition, Observe(e, pods).Condition},
				"the state, pods gone":    {Observe(j, nil).Condition, Observe(e, nil).Condition},
				"the start":               {j.Status.StartTime, e.Status.StartTime},
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
