// Package triggerclass merges a Trigger over the TriggerClass that it names.
package triggerclass

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// missing says that a Trigger's class does not exist, and what to do.
func missing(t *v1alpha1.Trigger) string {
	return fmt.Sprintf("The TriggerClass %q of the Trigger %q does not exist. Create it, or name another one in the Trigger.",
		t.Spec.TriggerClassName, t.Name)
}

// Unreadable says that the manager may not read a Trigger's class, and what to do.
func Unreadable(t *v1alpha1.Trigger) string {
	return fmt.Sprintf("The manager may not read the TriggerClass %q of the Trigger %q. "+
		"Ask the operator of this service to check its role, or do without a class.", t.Spec.TriggerClassName, t.Name)
}

// Complete returns a Trigger with what it inherits, and the Trigger itself if it names no class. The problem says, in sentences for the
// Trigger's author, why the Trigger stays as it is. An error comes from get, which reads a class.
func Complete(
	t *v1alpha1.Trigger, get func(name string) (*v1alpha1.TriggerClass, error),
) (complete *v1alpha1.Trigger, problem string, err error) {
	if t == nil || t.Spec.TriggerClassName == "" {
		return t, "", nil
	}
	class, err := get(t.Spec.TriggerClassName)
	if apierror.NotFound(err) {
		return t, missing(t), nil
	}
	if err != nil {
		return t, "", fmt.Errorf("look up the TriggerClass %s: %w", t.Spec.TriggerClassName, err)
	}
	complete, problem = Merge(class, t)
	return complete, problem, nil
}

// Merge returns the Trigger with what it inherits from its class, sharing no memory with the arguments. It merges all fields as
// "kubectl patch --type=strategic" does: maps are merged; containers, volumes and variables are merged by their name; other lists of the
// Trigger replace the class's lists. If the two do not fit together, the problem says why, and the Trigger is returned as it is.
func Merge(class *v1alpha1.TriggerClass, t *v1alpha1.Trigger) (complete *v1alpha1.Trigger, problem string) {
	spec, err := merge(class.Spec, *t.Spec.DeepCopy())
	if err != nil {
		return t, fmt.Sprintf("The Trigger %q cannot be merged over the TriggerClass %q: %s. Correct one of them.",
			t.Name, class.Name, plaintext.Line(err.Error(), maxCause))
	}
	if unfit := unfit(spec); unfit != "" {
		return t, fmt.Sprintf("The Trigger %q and the TriggerClass %q do not fit together: %s. Correct one of them.", t.Name, class.Name, unfit)
	}
	complete = &v1alpha1.Trigger{TypeMeta: t.TypeMeta, ObjectMeta: *t.ObjectMeta.DeepCopy(), Spec: *spec}
	t.Status.DeepCopyInto(&complete.Status)
	return complete, ""
}

// unfit returns what is wrong with fields that are right in each of the two, as the API server would say of a Trigger or a Job, or "".
func unfit(spec *v1alpha1.TriggerSpec) string {
	if r := spec.Results; r != nil && r.MinTests > 0 && r.Require != "" && r.Require != v1alpha1.RequireTests {
		return "results.minTests needs results.require: Tests"
	}
	if r := spec.Results; r != nil && r.FewerTests != "" && r.Require == v1alpha1.RequireNothing {
		return "results.fewerTests needs results.require: Tests or Report"
	}
	if unfit := unfitShards(spec); unfit != "" {
		return unfit
	}
	pod := &spec.JobTemplate.Spec.Template.Spec
	if len(pod.Containers) == 0 {
		return "neither jobTemplate has a container"
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if c.Image == "" {
			return fmt.Sprintf("the container %q has no image; containers are merged by their name", plaintext.Line(c.Name, maxCause))
		}
	}
	return ""
}

func unfitShards(spec *v1alpha1.TriggerSpec) string {
	j := &spec.JobTemplate.Spec
	switch {
	case spec.Shards == 0:
		return ""
	case j.CompletionMode != nil || j.Completions != nil || j.Parallelism != nil:
		return "with shards, the jobTemplate is that of one shard, and has no completionMode, completions and parallelism"
	case j.SuccessPolicy != nil:
		return "with shards, every shard has to pass, and the jobTemplate has no successPolicy"
	case j.Template.Spec.RestartPolicy != "" && j.Template.Spec.RestartPolicy != corev1.RestartPolicyNever:
		return "with shards, the restartPolicy of the jobTemplate must be Never"
	case spec.FailFast && j.BackoffLimitPerIndex != nil:
		return "with failFast, backoffLimitPerIndex has no effect"
	default:
		return ""
	}
}

const maxCause = 200 // of a message that quotes an object

// directive matches keys by which a patch removes things. The schema allows them in labels and other maps of strings.
var directive = regexp.MustCompile(`"\$(patch|retainKeys|(deleteFromPrimitiveList|setElementOrder)/[^"]*)":`)

func merge(class v1alpha1.TriggerClassSpec, t v1alpha1.TriggerSpec) (*v1alpha1.TriggerSpec, error) {
	if pod := &t.JobTemplate.Spec.Template.Spec; pod.Containers == nil {
		pod.Containers = []corev1.Container{} // null would delete the class's containers
	}
	base, err := json.Marshal(class)
	if err != nil {
		return nil, err
	}
	over, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	if key := directive.Find(over); key != nil {
		return nil, fmt.Errorf("the key %s is no label or annotation", bytes.TrimSuffix(key, []byte(":")))
	}
	all, err := strategicpatch.StrategicMergePatch(base, over, t)
	if err != nil {
		return nil, err
	}
	merged := &v1alpha1.TriggerSpec{}
	return merged, json.Unmarshal(all, merged)
}
