package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestShards(t *testing.T) {
	limits := func(total, each *int32) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) {
			t.Spec.JobTemplate.Spec.BackoffLimit, t.Spec.JobTemplate.Spec.BackoffLimitPerIndex = total, each
		}
	}
	for name, tc := range map[string]struct {
		reason      string
		shards      int32
		failFast    bool
		template    func(*v1alpha1.Trigger)
		total, each *int32
	}{
		"four":                 {"A shard that fails does not stop the others.", 4, false, limits(nil, nil), nil, new(int32(0))},
		"repeated":             {"The template is that of one shard, and so is its limit.", 4, false, limits(new(int32(2)), nil), nil, new(int32(2))},
		"repeated each":        {"That is what it says.", 4, false, limits(nil, new(int32(1))), nil, new(int32(1))},
		"fail fast":            {"The first failure ends the Job.", 4, true, limits(nil, nil), new(int32(0)), nil},
		"fail fast, repeated":  {"It counts for all together.", 4, true, limits(new(int32(2)), nil), new(int32(2)), nil},
		"fail fast, each":      {"It was stored before the schema knew better.", 4, true, limits(nil, new(int32(1))), new(int32(0)), nil},
		"one":                  {"It is not split.", 1, true, limits(nil, nil), new(int32(0)), nil},
		"one, but with limits": {"It is not split.", 1, false, limits(new(int32(3)), nil), new(int32(3)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			trigger := newTrigger(tc.template, func(t *v1alpha1.Trigger) { t.Spec.Shards, t.Spec.FailFast = tc.shards, tc.failFast })
			spec := Build(newSuite(), trigger, newEnvironment()).Spec
			want := batchv1.JobSpec{BackoffLimit: tc.total, BackoffLimitPerIndex: tc.each}
			if tc.shards > 1 {
				want.CompletionMode, want.Completions, want.Parallelism = new(batchv1.IndexedCompletion), &tc.shards, &tc.shards
			}
			got := batchv1.JobSpec{
				CompletionMode: spec.CompletionMode, Completions: spec.Completions, Parallelism: spec.Parallelism,
				BackoffLimit: spec.BackoffLimit, BackoffLimitPerIndex: spec.BackoffLimitPerIndex, MaxFailedIndexes: spec.MaxFailedIndexes,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestShardVariables(t *testing.T) {
	index := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
	count := func(value string) corev1.EnvVar { return corev1.EnvVar{Name: "POSTFLIGHT_SHARD_COUNT", Value: value} }
	for shards, want := range map[int32][]corev1.EnvVar{
		0:  nil,
		1:  {count("1"), {Name: "POSTFLIGHT_SHARD_INDEX", Value: "0"}},
		64: {count("64"), {Name: "POSTFLIGHT_SHARD_INDEX", ValueFrom: index}},
	} {
		trigger := newTrigger(func(t *v1alpha1.Trigger) {
			t.Spec.Shards = shards
			if shards > 0 {
				pod(t).Containers[0].Env = []corev1.EnvVar{{Name: "ARG", Value: "$(POSTFLIGHT_SHARD_INDEX)"}, {Name: "POSTFLIGHT_SHARD_INDEX", Value: "7"}}
			}
		})
		env := Build(newSuite(), trigger, newEnvironment()).Spec.Template.Spec.Containers[0].Env
		if len(env) < len(want) || cmp.Diff(want, append([]corev1.EnvVar(nil), env[:len(want)]...)) != "" {
			t.Errorf("%d shards: the variables begin with %v, so that those of the template can refer to them", shards, env)
		}
		for _, v := range env[len(want):] {
			if v.Name == "POSTFLIGHT_SHARD_INDEX" || v.Name == "POSTFLIGHT_SHARD_COUNT" {
				t.Errorf("%d shards: it is there twice: %v", shards, env)
			}
		}
	}
}
