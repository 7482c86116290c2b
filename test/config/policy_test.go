package config

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/build"
)

// TestPolicy: users cannot use Postflight to run pods that they may not run themselves.
func TestPolicy(t *testing.T) {
	w := newPolicyWorld(t)
	s, ns, writer, runner := w.Server, w.ns, w.writer, w.runner

	if err := runner.Create(t.Context(), aTrigger(ns)); err != nil {
		t.Errorf("who may create Jobs may create Triggers: %v", err)
	}
	secrets := anEnvironment(ns, "secrets")
	secrets.Spec.VariablesFrom = []corev1.EnvFromSource{{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}},
	}}
	if err := writer.Create(t.Context(), secrets.DeepCopy()); !denied(err) {
		t.Errorf("an Environment hands Secrets to pods: got %v, want it to be denied", err)
	}
	if err := runner.Create(t.Context(), secrets); err != nil {
		t.Errorf("who may create Jobs may hand Secrets to them: %v", err)
	}
	if err := writer.Create(t.Context(), anEnvironment(ns, "plain")); !denied(err) {
		t.Errorf("the url of an Environment reaches every pod: got %v, want it to be denied", err)
	}
	if err := writer.Create(t.Context(), aSuite(ns, "refused")); !denied(err) {
		t.Errorf("a Suite is a pod with the variables of its Environment: got %v, want it to be denied", err)
	}
	if err := runner.Create(t.Context(), aSuite(ns, "run")); err != nil {
		t.Errorf("who may create Jobs may create Suites: %v", err)
	}
	if err := writer.Patch(t.Context(), aSuite(ns, "run"), client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"cancel":true}}`))); err != nil {
		t.Errorf("to cancel a run starts none: %v", err)
	}
	manager, err := client.New(s.Manager(t), client.Options{Scheme: s.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.Create(t.Context(), aSuite(ns, "notified")); err != nil {
		t.Errorf("the manager creates a Suite for each notification: %v", err)
	}
	ephemeral := anEnvironment(ns, "pr-1")
	ephemeral.Spec.Ephemeral = &v1alpha1.EphemeralEnvironment{DeploymentURL: "https://pr-1.example.com", ExpiresAt: metav1.Now()}
	if err := manager.Create(t.Context(), ephemeral); err != nil {
		t.Errorf("the manager creates ephemeral Environments: %v", err)
	}
	renew := []byte(`{"spec":{"ephemeral":{"expiresAt":"2036-01-01T00:00:00Z"}}}`)
	if err := manager.Patch(t.Context(), ephemeral, client.RawPatch(types.MergePatchType, renew)); err != nil {
		t.Errorf("the manager renews ephemeral Environments: %v", err)
	}
	changed := aTrigger(ns)
	change(t, writer, changed, func() { changed.Labels = map[string]string{"a": "b"} }, func(err error) bool { return err == nil })
	change(t, writer, changed, func() { changed.Spec.Paused = true }, denied)
}

func change(t *testing.T, c client.Client, o *v1alpha1.Trigger, how func(), want func(error) bool) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	was := o.DeepCopy()
	how()
	if err := c.Patch(t.Context(), o, client.MergeFrom(was)); !want(err) {
		t.Errorf("change a Trigger: unexpected answer %v", err)
	}
}

func as(t *testing.T, s *apiserver.Server, user string) client.Client {
	t.Helper()
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	c, err := client.New(config, client.Options{Scheme: s.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func grant(t *testing.T, s *apiserver.Server, ns, user, group string, resources ...string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: user + "-" + resources[0], Namespace: ns}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: resources, Verbs: []string{"*"}}}
	users := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}
	var role, binding client.Object = &rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref,
		Subjects: users}
	if ns == everywhere {
		ref.Kind = "ClusterRole"
		role, binding = &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref,
			Subjects: users}
	}
	must(t, s.Client.Create(context.Background(), role))
	must(t, s.Client.Create(context.Background(), binding))
}

const everywhere = "" // instead of a namespace

func anEnvironment(ns, name string) *v1alpha1.Environment {
	return build.In(ns, build.Environment(name))
}
func aSuite(ns, name string) *v1alpha1.Suite { return build.In(ns, build.Suite(name, 0)) }
func aTrigger(ns string) *v1alpha1.Trigger   { return build.In(ns, build.Trigger("smoke")) }
