package job

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestBuild(t *testing.T) {
	s := newSuite(func(s *v1alpha1.Suite) {
		s.Labels = map[string]string{"team": "shop"}
		s.Spec.Deployment.URL = "https://pr-7.acme.dev"
	})
	trigger := newTrigger(func(t *v1alpha1.Trigger) {
		t.Spec.JobTemplate.Labels = map[string]string{"team": "qa", v1alpha1.LabelSuite: "another"}
		t.Spec.JobTemplate.Annotations = map[string]string{"owner": "qa"}
		t.Spec.JobTemplate.Spec.Template.Annotations = map[string]string{"scrape": "no"}
	})
	labels := map[string]string{
		v1alpha1.LabelSuite: "smoke-1", v1alpha1.LabelTrigger: "smoke",
		v1alpha1.LabelEnvironment: "staging", v1alpha1.LabelNotBackedUp: "true",
	}
	want := &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "smoke-1", Namespace: "acme",
			Labels:      withLabels(map[string]string{"team": "qa"}, labels),
			Annotations: map[string]string{"owner": "qa", "postflight.dev/timeout": "30m0s"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "postflight.dev/v1alpha1", Kind: "Suite", Name: "smoke-1", UID: "suite-uid",
				Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(int32(0)),
			ActiveDeadlineSeconds: new(int64(3000)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"scrape": "no"}},
				Spec: corev1.PodSpec{
					ActiveDeadlineSeconds:        new(int64(2700)),
					RestartPolicy:                corev1.RestartPolicyNever,
					AutomountServiceAccountToken: new(false),
					Containers: []corev1.Container{{
						Name: "test", Image: "acme/tests:1",
						Env: []corev1.EnvVar{
							{Name: "POSTFLIGHT_BRANCH", Value: "main"},
							{Name: "POSTFLIGHT_ENVIRONMENT", Value: "staging"},
							{Name: "POSTFLIGHT_SHA", Value: "cafe"},
							{Name: "POSTFLIGHT_SUITE_ID", Value: "smoke-1"},
							{Name: "URL", Value: "https://pr-7.acme.dev"},
						},
					}},
				},
			},
		},
	}
	if diff := cmp.Diff(want, Build(s, trigger, newEnvironment())); diff != "" {
		t.Errorf("Build(...): -want, +got:\n%s", diff)
	}
}

func TestBuildSpec(t *testing.T) {
	type spec struct {
		BackoffLimit  *int32
		PerIndex      *int32
		Limit         time.Duration
		RestartPolicy corev1.RestartPolicy
		Token         bool
	}
	silent := spec{BackoffLimit: new(int32(0)), Limit: 30 * time.Minute, RestartPolicy: "Never"}
	cases := map[string]struct {
		reason  string
		timeout time.Duration
		change  func(*batchv1.JobSpec)
		want    spec
	}{
		"Silent": {
			reason: "A template that says nothing gets the defaults, and a Trigger that does gets 30 minutes.",
			want:   silent,
		},
		"RoundedUp": {
			reason:  "A run has the time that its Trigger says.",
			timeout: 1500 * time.Millisecond,
			want:    spec{BackoffLimit: new(int32(0)), Limit: 1500 * time.Millisecond, RestartPolicy: "Never"},
		},
		"SmallerDeadline": {
			reason:  "The smaller of the two times counts.",
			timeout: time.Hour,
			change:  func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(60)) },
			want:    spec{BackoffLimit: new(int32(0)), Limit: time.Minute, RestartPolicy: "Never"},
		},
		"LargerDeadline": {
			reason:  "A template cannot give a run more time than its Trigger.",
			timeout: time.Minute,
			change:  func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(3600)) },
			want:    spec{BackoffLimit: new(int32(0)), Limit: time.Minute, RestartPolicy: "Never"},
		},
		"Chosen": {
			reason: "What the template says about retries and tokens stays.",
			change: func(s *batchv1.JobSpec) {
				s.BackoffLimit = new(int32(2))
				s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
				s.Template.Spec.AutomountServiceAccountToken = new(true)
			},
			want: spec{BackoffLimit: new(int32(2)), Limit: 30 * time.Minute, RestartPolicy: "OnFailure", Token: true},
		},
		"BackoffLimitPerIndex": {
			reason: "A limit of 0 for the whole Job would end it at the first index that fails.",
			change: func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = new(int32(1)) },
			want:   spec{PerIndex: new(int32(1)), Limit: 30 * time.Minute, RestartPolicy: "Never"},
		},
		"Indexed": {
			reason: "A shard that fails does not stop the others.",
			change: func(s *batchv1.JobSpec) { s.CompletionMode = new(batchv1.IndexedCompletion) },
			want:   spec{PerIndex: new(int32(0)), Limit: 30 * time.Minute, RestartPolicy: "Never"},
		},
		"IndexedChosen": {
			reason: "The template says that the first failure ends the Job.",
			change: func(s *batchv1.JobSpec) {
				s.CompletionMode, s.BackoffLimit = new(batchv1.IndexedCompletion), new(int32(0))
			},
			want: spec{BackoffLimit: new(int32(0)), Limit: 30 * time.Minute, RestartPolicy: "Never"},
		},
		"IndexedOnFailure": {
			reason: "Kubernetes has no limit per index for containers that restart in place.",
			change: func(s *batchv1.JobSpec) {
				s.CompletionMode, s.Template.Spec.RestartPolicy = new(batchv1.IndexedCompletion), corev1.RestartPolicyOnFailure
			},
			want: spec{BackoffLimit: new(int32(0)), Limit: 30 * time.Minute, RestartPolicy: "OnFailure"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			trigger := newTrigger()
			if tc.timeout != 0 {
				trigger.Spec.Timeout = &metav1.Duration{Duration: tc.timeout}
			}
			if tc.change != nil {
				tc.change(&trigger.Spec.JobTemplate.Spec)
			}
			j := Build(newSuite(), trigger, newEnvironment())
			got := spec{
				BackoffLimit: j.Spec.BackoffLimit, PerIndex: j.Spec.BackoffLimitPerIndex, Limit: TimeLimit(j),
				RestartPolicy: j.Spec.Template.Spec.RestartPolicy, Token: *j.Spec.Template.Spec.AutomountServiceAccountToken,
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nBuild(...): -want, +got:\n%s", tc.reason, diff)
			}
			// Without a manager, the pods end first, in whole seconds, and keep their logs.
			longest := int64(math.Ceil((tc.want.Limit + 15*time.Minute).Seconds()))
			if pod, job := *j.Spec.Template.Spec.ActiveDeadlineSeconds, *j.Spec.ActiveDeadlineSeconds; pod != longest || job != longest+300 {
				t.Errorf("%s: the pod ends after %d s and the Job after %d s, want %d and %d", tc.reason, pod, job, longest, longest+300)
			}
		})
	}
}

// A template copied from a Job that ran has fields that would tie the run to that Job, end it
// unexpectedly, or prevent its start.
func TestBuildTakesOver(t *testing.T) {
	trigger := newTrigger(func(t *v1alpha1.Trigger) {
		spec := &t.Spec.JobTemplate.Spec
		spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"controller-uid": "old"}}
		spec.ManualSelector = new(true)
		spec.Suspend = new(true)
		spec.TTLSecondsAfterFinished = new(int32(1))
		spec.Parallelism, spec.Completions = new(int32(2)), new(int32(4))
		spec.Template.Labels = map[string]string{
			"controller-uid": "old", "batch.kubernetes.io/job-name": "old", "app": "tests",
		}
	})
	j := Build(newSuite(), trigger, newEnvironment())
	want := batchv1.JobSpec{
		Parallelism: new(int32(2)), Completions: new(int32(4)),
		BackoffLimit: new(int32(0)), ActiveDeadlineSeconds: new(int64(3000)),
		Template: j.Spec.Template,
	}
	if diff := cmp.Diff(want, j.Spec); diff != "" {
		t.Errorf("spec: -want, +got:\n%s", diff)
	}
	wantLabels := map[string]string{
		"app": "tests", v1alpha1.LabelSuite: "smoke-1", v1alpha1.LabelTrigger: "smoke", v1alpha1.LabelEnvironment: "staging",
		v1alpha1.LabelNotBackedUp: "true",
	}
	if diff := cmp.Diff(wantLabels, j.Spec.Template.Labels); diff != "" {
		t.Errorf("labels of the pods: -want, +got:\n%s", diff)
	}
}

// The arguments come from a cache that others read.
func TestBuildSharesNothing(t *testing.T) {
	s, trigger, e := newSuite(), newTrigger(), newEnvironment()
	trigger.Spec.JobTemplate.Labels = map[string]string{"a": "b"}
	pod(trigger).Containers[0].Env = []corev1.EnvVar{{Name: "URL", Value: "x"}, {Name: "A", Value: "x"}}
	pod(trigger).Containers[0].EnvFrom = make([]corev1.EnvFromSource, 1, 8)
	e.Spec.VariablesFrom = []corev1.EnvFromSource{secret("shop")}
	beforeS, beforeT, beforeE := s.DeepCopy(), trigger.DeepCopy(), e.DeepCopy()

	j := Build(s, trigger, e)
	before := j.DeepCopy()
	rewritten := map[string]string{"A": "/run-inputs/a"}
	WithInputs(j, Inputs{Directory: "/run-inputs", Rewritten: rewritten})
	if diff := cmp.Diff(before, j); diff != "" || len(rewritten) != 1 {
		t.Errorf("WithInputs changed the Job, or the variables to %v:\n%s", rewritten, diff)
	}
	j.Labels["a"] = "changed"
	j.Spec.Template.Spec.Containers[0].EnvFrom[0].SecretRef.Name = "changed"
	j.Spec.Template.Spec.Containers[0].Env[0].Value = "changed"
	for name, diff := range map[string]string{
		"Suite": cmp.Diff(beforeS, s), "Trigger": cmp.Diff(beforeT, trigger), "Environment": cmp.Diff(beforeE, e),
	} {
		if diff != "" {
			t.Errorf("Build or a change to its Job changed the %s:\n%s", name, diff)
		}
	}
}

// TestLimitsStayWithTheJob: a later change of the Trigger or its class is for later runs, and StripJob of package outcome keeps them.
func TestLimitsStayWithTheJob(t *testing.T) {
	trigger := newTrigger(func(t *v1alpha1.Trigger) {
		t.Spec.Timeout, t.Spec.StartTimeout = &metav1.Duration{Duration: 7 * time.Minute}, &metav1.Duration{Duration: 2 * time.Hour}
	})
	j := Build(newSuite(), trigger, newEnvironment())
	if run, start := TimeLimit(j), StartLimit(j); run != 7*time.Minute || start != 2*time.Hour {
		t.Errorf("%s to run, %s to start, want 7m and 2h", run, start)
	}
	if start := StartLimit(&batchv1.Job{}); start != 0 {
		t.Errorf("a Job without deadlines has %s to start, want 0", start)
	}
}
