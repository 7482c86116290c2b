package outcome

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/failedtests"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestStripKeepsQueue: the message of a Job that waits names its queue.
func TestStripKeepsQueue(t *testing.T) {
	j := newJob(isSuspended, func(j *batchv1.Job) {
		j.Labels = map[string]string{job.QueueLabel: "tests", "app": "shop"}
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
				"the files that it needs": {job.InputsOf(j), job.InputsOf(e)},
			} {
				if diff := cmp.Diff(both[0], both[1]); diff != "" {
					t.Errorf("%s differs:\n%s", reason, diff)
				}
			}
		})
	}
}

// TestStripKeepsWhatAJobSays: what package job reads back is the same where only the cache's Job is read.
func TestStripKeepsWhatAJobSays(t *testing.T) {
	trigger := &v1alpha1.Trigger{Spec: v1alpha1.TriggerSpec{
		Timeout: &metav1.Duration{Duration: 7 * time.Minute}, StartTimeout: &metav1.Duration{Duration: 2 * time.Hour},
		Ready: &v1alpha1.Ready{Timeout: &metav1.Duration{Duration: 10 * time.Minute}, HTTP: &v1alpha1.ReadyHTTP{}},
	}}
	built := job.Build(&v1alpha1.Suite{}, trigger, &v1alpha1.Environment{})
	inputs := job.WithInputs(built, job.Inputs{Directory: "/run-inputs", Files: []job.File{{Path: "größe $(HOME) $$/a+b.apk", ETag: "e", Size: 7}}})
	tests := []results.FailedTest{{Name: "example.com/cart > TestA/$x"}}
	repeats := job.WithFailed(built, &failedtests.Plan{Of: "r1", Ran: 9, Names: results.SetOf([]string{tests[0].Name}), Tests: tests})
	for name, j := range map[string]*batchv1.Job{"built": built, "inputs": inputs, "failed tests": repeats} {
		for times, e := range map[string]*batchv1.Job{"once": StripJob(j), "twice": StripJob(StripJob(j))} {
			for reason, both := range map[string][2]any{
				"the time to run":         {job.TimeLimit(j), job.TimeLimit(e)},
				"the time to start":       {job.StartLimit(j), job.StartLimit(e)},
				"the files that it needs": {job.InputsOf(j), job.InputsOf(e)},
				"what it repeats":         {job.PlanOf(j), job.PlanOf(e)},
			} {
				if diff := cmp.Diff(both[0], both[1]); diff != "" {
					t.Errorf("%s, stripped %s: %s differs:\n%s", name, times, reason, diff)
				}
			}
		}
	}
	if job.StartLimit(built) == 0 || job.InputsOf(inputs) == nil || job.PlanOf(repeats) == nil {
		t.Error("a Job does not say what the test compares")
	}
}
