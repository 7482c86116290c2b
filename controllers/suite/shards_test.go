package suite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
	"github.com/postflight-dev/postflight/internal/core/tests/split"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/world"
)

// testsOfRuns has the tests of earlier runs by their name.
type testsOfRuns struct {
	runs map[string][]httpapi.Test
	err  map[string]error

	mu    sync.Mutex
	asked []record.Run
}

func (c *testsOfRuns) Tests(_ context.Context, r record.Run, each func(httpapi.Test)) (history.RunHeader, error) {
	c.mu.Lock()
	c.asked = append(c.asked, r)
	c.mu.Unlock()
	for _, t := range c.runs[r.ID] {
		each(t)
	}
	return history.RunHeader{}, c.err[r.ID]
}

func sharded(n int32, failFast bool) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.Shards, t.Spec.FailFast = n, failFast }
}

// timingsIn are what the pods of a Job get.
func timingsIn(t *testing.T, j *batchv1.Job) split.Timings {
	t.Helper()
	for _, c := range j.Spec.Template.Spec.InitContainers {
		for _, v := range c.Env {
			if v.Name != job.PrepareFileVariable+"0" {
				continue
			}
			var f job.PackedFile
			if err := json.Unmarshal([]byte(v.Value), &f); err != nil || f.Name != "timings.json" {
				t.Fatalf("%s: %v", v.Value, err)
			}
			content, err := f.Unpack()
			if err != nil {
				t.Fatal(err)
			}
			timings, err := split.Parse(content)
			if err != nil {
				t.Fatal(err)
			}
			return timings
		}
	}
	t.Fatal("the pods get no times")
	return split.Timings{}
}

// TestShards: the API server accepts the Job of each number of shards, and each pod gets its number and the same times.
func TestShards(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	known := split.Timings{Runs: []string{"one-1", "one-2"}, Files: map[string]int64{"a.spec.ts": 1500, "b.spec.ts": 20}}
	took := func(a, b int64) []httpapi.Test {
		return []httpapi.Test{
			{Suite: "a", File: "a.spec.ts", Milliseconds: a}, {Suite: "a", File: "a.spec.ts", Milliseconds: 500}, {Suite: "b", File: "b.spec.ts", Milliseconds: b},
		}
	}
	tests := &testsOfRuns{
		runs: map[string][]httpapi.Test{"one-1": took(800, 10), "one-2": took(1200, 30), "one-cut": took(99_000, 99_000), "most-1": took(1, 1)},
		err: map[string]error{
			"one-cut": history.ErrUnreadable, "one-gone": fs.ErrNotExist, "most-1": errors.New("the store does not answer"),
		},
	}
	w.Tests = tests
	team := w.HasTeam()
	w.Create(build.Environment("staging"), build.Trigger("none"), build.Trigger("one", sharded(1, false)), build.Trigger("four", sharded(4, false)), build.Trigger("most", sharded(64, true)))
	for i, name := range []string{"one-1", "one-2", "one-cut", "one-gone", "most-1", "none-1"} {
		trigger, _, _ := strings.Cut(name, "-")
		w.Must(finish(w, build.In(w.NS, build.Suite(name, i, build.OfTrigger(trigger))), 1))
	}
	w.StartManager()
	for _, name := range []string{"none", "one", "four", "most"} {
		w.Create(build.Suite(name, 0, build.OfTrigger(name)))
	}
	for name, tc := range map[string]struct {
		shards      int32 // 0: the Job is not indexed
		limit, each *int32
		timings     split.Timings
		index       string // the value of the variable
		fieldPath   string // where Kubernetes takes the value from
		noFiles     bool   // the pods get none
	}{
		"none": {limit: new(int32(0)), noFiles: true},
		"one":  {limit: new(int32(0)), timings: known, index: "0"},
		"four": {shards: 4, limit: new(int32(2147483647)), each: new(int32(0)), timings: split.Timings{Runs: []string{}, Files: map[string]int64{}}, fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']"},
		"most": {shards: 64, limit: new(int32(0)), fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']",
			timings: split.Timings{Runs: []string{}, Files: map[string]int64{}, Problem: "The times of earlier runs could not be read when the run started: the store does not answer."}},
	} {
		j := w.HasJob(name)
		if tc.shards > 0 && (*j.Spec.CompletionMode != batchv1.IndexedCompletion || *j.Spec.Completions != tc.shards || *j.Spec.Parallelism != tc.shards) ||
			tc.shards == 0 && *j.Spec.CompletionMode != batchv1.NonIndexedCompletion {
			t.Errorf("%s: %s, %d pods, %d at once", name, *j.Spec.CompletionMode, *j.Spec.Completions, *j.Spec.Parallelism)
		}
		if !ptr.Equal(tc.limit, j.Spec.BackoffLimit) || !ptr.Equal(tc.each, j.Spec.BackoffLimitPerIndex) {
			t.Errorf("%s: backoffLimit %v, backoffLimitPerIndex %v", name, j.Spec.BackoffLimit, j.Spec.BackoffLimitPerIndex)
		}
		env := map[string]corev1.EnvVar{}
		for _, v := range j.Spec.Template.Spec.Containers[0].Env {
			env[v.Name] = v
		}
		if tc.noFiles {
			if _, has := env["POSTFLIGHT_SPLIT"]; has || len(j.Spec.Template.Spec.InitContainers) > 0 {
				t.Errorf("%s: it needs no files: %+v", name, j.Spec.Template.Spec)
			}
			continue
		}
		index := env["POSTFLIGHT_SHARD_INDEX"]
		if tc.fieldPath == "" && index.Value != tc.index || tc.fieldPath != "" && (index.ValueFrom == nil || index.ValueFrom.FieldRef.FieldPath != tc.fieldPath) {
			t.Errorf("%s: the number of the shard is %+v", name, index)
		}
		if got := env["POSTFLIGHT_SHARD_COUNT"].Value; got != fmt.Sprint(max(1, tc.shards)) {
			t.Errorf("%s: there are %s shards", name, got)
		}
		if env["POSTFLIGHT_SPLIT"].Value != "/postflight/tools/postflight-split" || env["POSTFLIGHT_TIMINGS"].Value != "/postflight/tools/timings.json" {
			t.Errorf("%s: %v", name, env)
		}
		if c := j.Spec.Template.Spec.InitContainers; len(c) != 1 || c[0].Name != job.PrepareContainer || c[0].Image != "postflight:test" {
			t.Errorf("%s: %+v", name, c)
		}
		got := timingsIn(t, j)
		slices.Sort(got.Runs) // several ended in one second
		if diff := cmp.Diff(tc.timings, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	tests.mu.Lock()
	defer tests.mu.Unlock()
	for _, r := range tests.asked {
		if r.Team != team.Name || r.ID == "none-1" {
			t.Errorf("the tests are those of the team of the run, and only for runs with shards: %+v", r)
		}
	}
}

// TestShardsFail: the message says how many failed and how many were stopped.
func TestShardsFail(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Trigger("all", sharded(4, false)), build.Trigger("fast", sharded(4, true)), build.Suite("all", 0, build.OfTrigger("all")), build.Suite("fast", 1, build.OfTrigger("fast")))
	for name, tc := range map[string]struct {
		reason    string
		succeeded int32
		failed    *string
		message   string
	}{
		"all":  {batchv1.JobReasonFailedIndexes, 2, new("1,3"), `2 of 4 shards failed. Container "test" exited with code 3 (failed indexes: 1,3).`},
		"fast": {batchv1.JobReasonBackoffLimitExceeded, 1, nil, `1 of 4 shards failed; 2 were stopped. Container "test" exited with code 3.`},
	} {
		w.Runs(name)
		j := w.HasJob(name)
		p := fakecluster.NewPod(j, w.NodeName)
		w.Must(w.Client.Get(context.Background(), w.Key(p.Name), p))
		p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "1"}
		w.Must(w.Client.Update(context.Background(), p))
		w.Status(p, func() { fakecluster.EndPod(p, 3) })
		w.Ends(name, func(j *batchv1.Job) { j.Status.Succeeded, j.Status.FailedIndexes = tc.succeeded, tc.failed }, tc.reason, batchv1.JobFailureTarget, batchv1.JobFailed)
		w.Reaches(name, v1alpha1.ReasonFailed, tc.message)
	}
}

// TestShardsOfAClass: what the class has must be a template of one shard, too.
func TestShardsOfAClass(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	class := &v1alpha1.TriggerClass{}
	class.Name = w.NS + "-parallel"
	class.Spec.JobTemplate = build.Trigger("smoke").Spec.JobTemplate
	class.Spec.JobTemplate.Spec.Parallelism = new(int32(2))
	w.Must(w.Client.Create(context.Background(), class))
	t.Cleanup(func() { _ = w.Client.Delete(context.Background(), class) })
	trigger := build.Trigger("split", sharded(4, false), func(t *v1alpha1.Trigger) { t.Spec.TriggerClassName = class.Name })
	w.Create(trigger)
	w.Ready(trigger, "False", "Incomplete", "do not fit together: with shards, the jobTemplate is that of one shard, and has no completionMode, completions and parallelism.")
}
