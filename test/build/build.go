// Package build has builders of objects for tests, which options change. The API server accepts these objects once they have a
// namespace.
package build

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// With applies changes to an object.
func With[T any, F ~func(T)](o T, change ...F) T {
	for _, c := range change {
		c(o)
	}
	return o
}

// In puts an object into a namespace.
func In[T metav1.Object](namespace string, o T) T {
	o.SetNamespace(namespace)
	return o
}

// Environment is for the Suites and Triggers of this package if its name is "staging".
func Environment(name string, change ...func(*v1alpha1.Environment)) *v1alpha1.Environment {
	return With(&v1alpha1.Environment{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.EnvironmentSpec{URL: "https://staging.example.com"},
	}, change...)
}

// Ephemeral makes an Environment expire.
func Ephemeral(until time.Time) func(*v1alpha1.Environment) {
	return func(e *v1alpha1.Environment) {
		e.Spec.Ephemeral = &v1alpha1.EphemeralEnvironment{DeploymentURL: "https://pr-1.example.com", ExpiresAt: metav1.NewTime(until)}
	}
}

// Trigger runs a container "test" for deployments to staging.
func Trigger(name string, change ...func(*v1alpha1.Trigger)) *v1alpha1.Trigger {
	t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TriggerSpec{Environment: "staging"}}
	t.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Image: "test"}}
	return With(t, change...)
}

// AtMost limits how many runs of a Trigger run at once.
func AtMost(runs int32) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.MaxConcurrentSuites = runs }
}

// KeptFor is how long the runs of a Trigger are kept.
func KeptFor(ttl time.Duration) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.Retention.TTLAfterFinished = &metav1.Duration{Duration: ttl} }
}

// Noon is the time from which Suites arrive.
var Noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Suite is a run of the Trigger "smoke", received the given seconds after noon. It is in no stream unless an option
// sets a key or another policy.
func Suite(name string, seconds int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	received := metav1.NewMicroTime(Noon.Add(time.Duration(seconds) * time.Second))
	return With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.SuiteSpec{
			Trigger:     v1alpha1.TriggerReference{Name: "smoke"},
			Environment: "staging",
			Deployment:  v1alpha1.Deployment{Branch: "main", SHA: "5ca1ab1e"},
			ReceivedAt:  &received,
			Supersede:   v1alpha1.SupersedeNone,
		},
	}, change...)
}

// OfTrigger is the Trigger of a Suite.
func OfTrigger(trigger string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = trigger }
}

// InEnvironment is the Environment of a Suite.
func InEnvironment(environment string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Environment = environment }
}

// Keyed gives a Suite the key of its stream.
func Keyed(key string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.SupersedeKey = key }
}

// Team owns a namespace; "" is that of its name.
func Team(name, namespace string, change ...func(*v1alpha1.Team)) *v1alpha1.Team {
	return With(&v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TeamSpec{Namespace: namespace}}, change...)
}

// Deployment has one replica, which the test rolls out.
func Deployment(name, sha string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}}
	d.Spec.Replicas = new(int32(1))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: d.Labels}
	d.Spec.Template.Labels = d.Labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
	SetCommit(d, sha)
	return d
}

// SetCommit makes a Deployment have the image of a commit.
func SetCommit(d *appsv1.Deployment, sha string) {
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": sha[:1]}
	d.Spec.Template.Spec.Containers[0].Image = "registry.example.com/shop:" + sha
}

// APIKey has another hash for each name.
func APIKey(name string, change ...func(*v1alpha1.APIKey)) *v1alpha1.APIKey {
	k := &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Name: name}}
	k.Spec.SHA256 = strings.Repeat("0", 64-len(name)) + strings.NewReplacer("-", "0").Replace(name)
	return With(k, change...)
}

// Token is the data of a Secret.
func Token(text string) map[string][]byte { return map[string][]byte{"token": []byte(text)} }

// Secret has data, such as a Token.
func Secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// Grant binds a role to the manager.
func Grant(kind, name string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "grant-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "postflight-system", Name: "postflight-manager"}},
	}
}

// Commit is a SHA that a code host accepts, made of one digit.
func Commit(digit int) string { return strings.Repeat(fmt.Sprint(digit%10), 40) }
