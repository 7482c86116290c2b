package apitest

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/test/build"
)

// Acme returns the objects of most tests: a team with a key and an Environment, and more.
func Acme(more ...client.Object) []client.Object {
	return append([]client.Object{Team(Namespace), APIKey(GoodKey), EnvironmentNamed("staging")}, more...)
}

// Team returns a team.
func Team(name string) *v1alpha1.Team {
	return &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// APIKey returns a key of the team.
func APIKey(key string) *v1alpha1.APIKey {
	return &v1alpha1.APIKey{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: strings.NewReplacer("_", "-").Replace(key)},
		Spec:       v1alpha1.APIKeySpec{SHA256: apikey.Digest(key)},
	}
}

// EnvironmentNamed returns an Environment of the team.
func EnvironmentNamed(name string) *v1alpha1.Environment {
	return &v1alpha1.Environment{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name},
		Spec:       v1alpha1.EnvironmentSpec{URL: "https://" + name + ".example.com", Variables: map[string]string{"REGION": "eu"}},
	}
}

// Trigger returns a Trigger that every notification matches, before it is changed.
func Trigger(name string, change ...func(*v1alpha1.Trigger)) *v1alpha1.Trigger {
	return build.With(&v1alpha1.Trigger{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name},
		Spec:       v1alpha1.TriggerSpec{Environment: "staging", Duplicates: v1alpha1.DuplicatesCommit},
	}, change...)
}

// InNowhere lets a Trigger name an Environment that does not exist.
func InNowhere(t *v1alpha1.Trigger) { t.Spec.Environment = "nowhere" }
