package job

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStripKeepsQueue: the message of a Job that waits names its queue.
func TestStripKeepsQueue(t *testing.T) {
	j := newJob(isSuspended, func(j *batchv1.Job) {
		j.Labels = map[string]string{QueueLabel: "tests", "app": "shop"}
	})
	if diff := cmp.Diff(Observe(j, nil).Condition, Observe(StripJob(j), nil).Condition); diff != "" {
		t.Errorf("the state differs:\n%s", diff)
	}
	if len(StripJob(j).Labels) != 1 {
		t.Errorf("got the labels %v, want only that of the queue", StripJob(j).Labels)
	}
}

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
