package job

import (
	"maps"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// staleLabels are in templates that were copied from a Job. The API server rejects a Job that has them.
var staleLabels = []string{
	"controller-uid", "job-name", batchv1.ControllerUidLabel, batchv1.JobNameLabel,
}

// Build returns a Job with the name of the Suite, so that it cannot be created twice. It shares no memory with the arguments.
func Build(s *v1alpha1.Suite, t *v1alpha1.Trigger, e *v1alpha1.Environment) *batchv1.Job {
	template := t.Spec.JobTemplate.DeepCopy()
	labels := labels(s)
	j := &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        s.Name,
			Namespace:   s.Namespace,
			Labels:      withLabels(template.Labels, labels),
			Annotations: withTimeout(template.Annotations, runTimeout(t)),
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("Suite")),
			},
		},
		Spec: template.Spec,
	}
	overrideSpec(&j.Spec, t)
	j.Spec.Template.Labels = withLabels(j.Spec.Template.Labels, labels)
	split(&j.Spec, t)
	setDefaults(&j.Spec)

	variables := variables(s, t, e)
	for c := range Containers(&j.Spec.Template.Spec) {
		c.EnvFrom = withEnvFrom(c.EnvFrom, e.Spec.VariablesFrom)
		c.Env = withShard(withVariables(c.Env, variables), t.Spec.Shards)
	}
	return j
}

func labels(s *v1alpha1.Suite) map[string]string {
	return map[string]string{
		v1alpha1.LabelSuite:       s.Name,
		v1alpha1.LabelTrigger:     s.Spec.Trigger.Name,
		v1alpha1.LabelEnvironment: s.Spec.Environment,
		v1alpha1.LabelNotBackedUp: "true",
	}
}

func withLabels(template, ours map[string]string) map[string]string {
	all := make(map[string]string, len(template)+len(ours))
	maps.Copy(all, template)
	for _, label := range staleLabels {
		delete(all, label)
	}
	maps.Copy(all, ours)
	return all
}

func runTimeout(t *v1alpha1.Trigger) time.Duration {
	if own := t.Spec.JobTemplate.Spec.ActiveDeadlineSeconds; own != nil {
		return min(t.RunTimeout(), time.Duration(*own)*time.Second)
	}
	return t.RunTimeout()
}

func withTimeout(template map[string]string, timeout time.Duration) map[string]string {
	all := make(map[string]string, len(template)+1)
	maps.Copy(all, template)
	delete(all, v1alpha1.AnnotationStopRequested)
	delete(all, v1alpha1.AnnotationUnderTest)
	delete(all, v1alpha1.AnnotationQuarantines)
	delete(all, v1alpha1.AnnotationFailedPlan)
	delete(all, v1alpha1.AnnotationTestsDigest)
	all[v1alpha1.AnnotationTimeout] = timeout.String()
	return all
}

// overrideSpec sets what a template cannot choose. The manager ends a run after its timeout and keeps its pods. If the manager is
// unavailable, the deadline of the pods does so. The deadline of the Job, which deletes them, comes last. A Job that deletes itself would
// look deleted by hand, a selector could adopt other pods, and nothing resumes a Job that starts suspended without a queue.
func overrideSpec(spec *batchv1.JobSpec, t *v1alpha1.Trigger) {
	longest := runTimeout(t) + t.StartTimeout() + t.Spec.Ready.ProbeLimit()
	spec.ActiveDeadlineSeconds = DeadlineSeconds(longest + podStopMargin)
	pod := &spec.Template.Spec
	if own := pod.ActiveDeadlineSeconds; own == nil || *own > *DeadlineSeconds(longest) {
		pod.ActiveDeadlineSeconds = DeadlineSeconds(longest)
	}
	spec.TTLSecondsAfterFinished = nil
	spec.Suspend = initialSuspend(&t.Spec.JobTemplate)
	spec.Selector = nil
	spec.ManualSelector = nil
}

// DeadlineSeconds rounds up, so that no run gets less time than its Trigger says.
func DeadlineSeconds(timeout time.Duration) *int64 { return new(int64(math.Ceil(timeout.Seconds()))) }

// setDefaults sets what the template leaves open. The termination message policy stays File: FallbackToLogsOnError gives better messages,
// but the end of a log may hold a secret, and messages are more public than logs.
func setDefaults(spec *batchv1.JobSpec) {
	pod := &spec.Template.Spec
	if pod.RestartPolicy == "" {
		pod.RestartPolicy = corev1.RestartPolicyNever
	}
	switch {
	case spec.BackoffLimit != nil || spec.BackoffLimitPerIndex != nil:
	case IsIndexed(spec) && pod.RestartPolicy == corev1.RestartPolicyNever: // Kubernetes has it for no other
		spec.BackoffLimitPerIndex = new(int32(0))
	default:
		spec.BackoffLimit = new(int32(0))
	}
	if pod.AutomountServiceAccountToken == nil {
		pod.AutomountServiceAccountToken = new(false)
	}
}
