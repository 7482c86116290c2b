package job

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

func newSuite(change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	return build.With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Name: "smoke-1", Namespace: "acme", UID: "suite-uid"},
		Spec: v1alpha1.SuiteSpec{
			Trigger:     v1alpha1.TriggerReference{Name: "smoke"},
			Environment: "staging",
			Deployment:  v1alpha1.Deployment{Branch: "main", SHA: "cafe"},
		},
	}, change...)
}

func newTrigger(change ...func(*v1alpha1.Trigger)) *v1alpha1.Trigger {
	t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: "smoke", Namespace: "acme"}}
	pod(t).Containers = []corev1.Container{{Name: "test", Image: "acme/tests:1"}}
	return build.With(t, change...)
}

// pod that the template of a Trigger describes.
func pod(t *v1alpha1.Trigger) *corev1.PodSpec { return &t.Spec.JobTemplate.Spec.Template.Spec }

func newEnvironment(change ...func(*v1alpha1.Environment)) *v1alpha1.Environment {
	return build.With(&v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging", Namespace: "acme"}}, change...)
}

// values of the variables of a container, as they stand in the Job.
func values(c corev1.Container) map[string]string {
	all := map[string]string{}
	for _, e := range c.Env {
		all[e.Name] = e.Value
	}
	return all
}
