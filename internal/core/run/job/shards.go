package job

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// What the pods of a run with shards share with its tests.
const (
	ShardIndexVariable = "POSTFLIGHT_SHARD_INDEX" // from 0
	ShardCountVariable = "POSTFLIGHT_SHARD_COUNT"
	SplitVariable      = "POSTFLIGHT_SPLIT"   // the path of the program that picks the test files of a shard
	SplitProgram       = "postflight-split"   // its name
	TimingsVariable    = "POSTFLIGHT_TIMINGS" // the path of the file with the seconds of the last runs
	TimingsFile        = "timings.json"       // its name

	MaxShards = 64 // as the schema of a Trigger says
)

// split makes the Job of a template that is for one shard. One shard is a Job as any other. The limit of a template would stop shards that
// have not failed, if it were that of all together: only failFast leaves it so. Kubernetes' maxFailedIndexes would count those that were
// stopped as failed.
func split(spec *batchv1.JobSpec, t *v1alpha1.Trigger) {
	if t.Spec.Shards < 2 {
		return
	}
	spec.CompletionMode, spec.Completions, spec.Parallelism = new(batchv1.IndexedCompletion), new(t.Spec.Shards), new(t.Spec.Shards)
	switch {
	case t.Spec.FailFast:
		spec.BackoffLimit, spec.BackoffLimitPerIndex = new(ptr.Deref(spec.BackoffLimit, 0)), nil
	case spec.BackoffLimitPerIndex == nil:
		spec.BackoffLimit, spec.BackoffLimitPerIndex = nil, new(ptr.Deref(spec.BackoffLimit, 0))
	}
}

// withShard puts the number of the shard before the entries of a template.
func withShard(template []corev1.EnvVar, shards int32) []corev1.EnvVar {
	if shards == 0 {
		return template
	}
	env := withVariables(template, map[string]string{ShardIndexVariable: "0", ShardCountVariable: strconv.Itoa(int(shards))})
	for i := range env {
		if env[i].Name == ShardIndexVariable && shards > 1 {
			env[i] = corev1.EnvVar{Name: ShardIndexVariable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
				APIVersion: "v1", FieldPath: "metadata.annotations['" + batchv1.JobCompletionIndexAnnotation + "']",
			}}}
		}
	}
	return env
}

// IsIndexed reports whether each pod of a Job does the part of its index, as shards do.
func IsIndexed(spec *batchv1.JobSpec) bool {
	return ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}
