package signin

import (
	"errors"
	"os"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/managers"
)

const system = "postflight-system"

// startManager starts a replica with exactly the rights of the shipped manifests, and waits until it is ready.
func startManager(t *testing.T, s *apiserver.Server, address, publicURL, signIn string) {
	t.Helper()
	managers.Start(t, managers.Options{
		Kubeconfig: apiserver.Kubeconfig(t, s.Manager(t)), Address: address,
		Flags: []string{"--leader-election-namespace=" + system, "--public-url=" + publicURL, "--sign-in-config=" + signIn},
	}).AwaitReady()
}

func missing(t *testing.T, message string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(message)
	}
	t.Skip("SKIPPED, NOT PASSED: " + message)
}

// newTeam is a team with a run that waits for a node.
func newTeam(t *testing.T, s *apiserver.Server) (namespace string) {
	t.Helper()
	namespace = s.Namespace(t)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	for _, o := range []client.Object{
		&v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&v1alpha1.Environment{ObjectMeta: meta("staging"), Spec: v1alpha1.EnvironmentSpec{URL: "https://staging.example.com"}},
		&v1alpha1.Trigger{ObjectMeta: meta("smoke"), Spec: v1alpha1.TriggerSpec{Environment: "staging", JobTemplate: jobTemplate()}},
		&v1alpha1.Suite{ObjectMeta: meta("smoke-1"), Spec: v1alpha1.SuiteSpec{
			Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging",
			Deployment: v1alpha1.Deployment{Branch: "main", SHA: "0123456789abcdef0123456789abcdef01234567"},
		}},
	} {
		if err := s.Client.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T: %v", o, err)
		}
	}
	return namespace
}

func jobTemplate() batchv1.JobTemplateSpec {
	return batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "test", Image: "example.com/test"}},
	}}}}
}

// sessionSecret is that of config/rbac, and the namespace of the manager.
func sessionSecret(t *testing.T, s *apiserver.Server) {
	t.Helper()
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "postflight-sessions"}},
	} {
		if err := s.Client.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// writeFile replaces a file at once, as a ConfigMap that is mounted changes.
func writeFile(t *testing.T, path, content string) {
	t.Helper()
	next := path + ".next"
	if err := errors.Join(os.WriteFile(next, []byte(content), 0o600), os.Rename(next, path)); err != nil {
		t.Fatal(err)
	}
}
