package e2e

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
)

// testImage has a shell and the demo's test suite, and is loaded into the node.
const testImage = "postflight/demo-test:dev"

// teamPrefix marks the teams of tests.
const teamPrefix = "e2e-"

// team is a tenant of one test's own, so that tests never see each other's runs.
type team struct {
	*cluster
	t    testing.TB
	name string // also its namespace
	key  string
}

// newTeam makes a team with a key and the Environments staging and production.
func newTeam(t testing.TB, c *cluster) *team {
	t.Helper()
	tm := &team{cluster: c, t: t, name: teamPrefix + random(4), key: "pf_" + random(20)}
	tm.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tm.name}})
	tm.create(&v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: tm.name}})
	tm.furnish()
	t.Cleanup(tm.remove)
	return tm
}

// furnish makes what the namespace of a team needs.
func (tm *team) furnish() {
	tm.t.Helper()
	digest := sha256.Sum256([]byte(tm.key))
	tm.create(&v1alpha1.APIKey{ObjectMeta: tm.meta("ci"), Spec: v1alpha1.APIKeySpec{SHA256: hex.EncodeToString(digest[:])}})
	for _, name := range []string{"staging", "production"} {
		tm.create(&v1alpha1.Environment{ObjectMeta: tm.meta(name), Spec: v1alpha1.EnvironmentSpec{URL: tm.env["DEMO_URL"]}})
	}
}

// podSecurity is the label of namespaces whose pods may use their node.
const podSecurity = "pod-security.kubernetes.io/enforce"

// label changes a label of the team's namespace.
func (tm *team) label(name, value string) {
	tm.t.Helper()
	patch := fmt.Sprintf(`{"metadata": {"labels": {%q: %q}}}`, name, value)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tm.name}}
	if err := tm.Patch(tm.t.Context(), ns, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		tm.t.Fatal(err)
	}
}

// in is the team in a subtest, which has to fail itself and not its parent.
func (tm *team) in(t testing.TB) *team {
	sub := *tm
	sub.t = t
	return &sub
}

// remove prints the objects of the team if the test failed, and deletes them without waiting.
func (tm *team) remove() {
	if tm.t.Failed() {
		tm.logState()
	}
	if tm.t.Failed() && os.Getenv(envKeep) == "1" {
		return
	}
	tm.removeTeam(tm.name)
}

// removeTeam deletes a team's namespace and then the team, in the background; the test that made it
// may have ended.
func (c *cluster) removeTeam(name string) {
	ctx := context.Background()
	_ = c.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	_ = c.Delete(ctx, &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func random(bytes int) string {
	raw := make([]byte, bytes)
	_, _ = rand.Read(raw) // never fails
	return hex.EncodeToString(raw)
}

func (tm *team) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: tm.name, Name: name}
}

func (tm *team) create(obj client.Object) {
	tm.t.Helper()
	if err := tm.Create(tm.t.Context(), obj); err != nil {
		tm.t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

// setting changes a Trigger before it is created.
type setting func(*v1alpha1.Trigger)

// trigger makes a Trigger whose runs are one short pod, for any notification unless a setting says
// otherwise.
func (tm *team) trigger(name string, settings ...setting) *v1alpha1.Trigger {
	tm.t.Helper()
	trigger := &v1alpha1.Trigger{
		ObjectMeta: tm.meta(name),
		Spec: v1alpha1.TriggerSpec{
			Environment: "staging",
			Timeout:     &metav1.Duration{Duration: 3 * time.Minute},
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64(1)),
				Containers: []corev1.Container{{
					Name:            "test",
					Image:           testImage,
					ImagePullPolicy: corev1.PullNever,
				}},
			}}}},
		},
	}
	for _, set := range settings {
		set(trigger)
	}
	tm.create(trigger)
	return trigger
}

func container(t *v1alpha1.Trigger) *corev1.Container {
	return &t.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
}

// runs replaces the demo's test suite by a shell script.
func runs(script string) setting {
	return func(t *v1alpha1.Trigger) { container(t).Command = []string{"/bin/sh", "-c", script} }
}

func image(name string, pull corev1.PullPolicy) setting {
	return func(t *v1alpha1.Trigger) { container(t).Image, container(t).ImagePullPolicy = name, pull }
}

func memory(limit string) setting {
	return func(t *v1alpha1.Trigger) {
		container(t).Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}
	}
}

func serviceAccount(name string) setting {
	return func(t *v1alpha1.Trigger) { t.Spec.JobTemplate.Spec.Template.Spec.ServiceAccountName = name }
}

// secretVolume mounts a Secret, whether it exists or not.
func secretVolume(secret string) setting {
	return func(t *v1alpha1.Trigger) {
		pod := &t.Spec.JobTemplate.Spec.Template.Spec
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: secret, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}})
		container(t).VolumeMounts = append(container(t).VolumeMounts, corev1.VolumeMount{Name: secret, MountPath: "/" + secret})
	}
}

// limitsResource sets the limit, and so the request, of an extended resource.
func limitsResource(name corev1.ResourceName, amount string) setting {
	return func(t *v1alpha1.Trigger) {
		container(t).Resources.Limits = corev1.ResourceList{name: resource.MustParse(amount)}
	}
}

// quota bounds how much of an extended resource the team's pods may request, and waits until it applies.
func (tm *team) quota(name, extended, amount string) {
	tm.t.Helper()
	q := &corev1.ResourceQuota{ObjectMeta: tm.meta(name)}
	q.Spec.Hard = corev1.ResourceList{corev1.ResourceName("requests." + extended): resource.MustParse(amount)}
	tm.create(q)
	poll.True(tm.t, "the quota is in force", func() bool {
		return tm.Get(tm.t.Context(), client.ObjectKeyFromObject(q), q) == nil && len(q.Status.Hard) > 0
	})
}

func branches(globs ...string) setting {
	return func(t *v1alpha1.Trigger) { t.Spec.Match.Branches = globs }
}

func environment(name string) setting {
	return func(t *v1alpha1.Trigger) { t.Spec.Environment = name }
}

func timeout(d time.Duration) setting {
	return func(t *v1alpha1.Trigger) { t.Spec.Timeout = &metav1.Duration{Duration: d} }
}

// retries lets a Job start its pod again if it fails.
func retries(n int32) setting {
	return func(t *v1alpha1.Trigger) { t.Spec.JobTemplate.Spec.BackoffLimit = &n }
}

func startTimeout(d time.Duration) setting {
	return func(t *v1alpha1.Trigger) { t.Spec.StartTimeout = &metav1.Duration{Duration: d} }
}

// configMapKey sets a variable from a ConfigMap, whether it exists or not.
func configMapKey(configMap, key string) setting {
	return func(t *v1alpha1.Trigger) {
		container(t).Env = append(container(t).Env, corev1.EnvVar{Name: "FROM_CONFIG", ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Key: key}}})
	}
}

// message of the condition that carries a Suite's life.
func message(s *v1alpha1.Suite) string {
	for _, c := range s.Status.Conditions {
		if c.Type == v1alpha1.ConditionSucceeded {
			return c.Message
		}
	}
	return ""
}

// logState logs the objects and events of the team, for the person who reads about a failure.
func (tm *team) logState() {
	for _, args := range [][]string{
		{"get", "suites,jobs,pods", "-o", "wide"},
		{"get", "suites", "-o", "yaml"},
		{"describe", "pods"},
		{"get", "events", "--sort-by=.lastTimestamp"},
	} {
		out, err := tm.kubectl(append([]string{"-n", tm.name}, args...)...)
		if err != nil {
			out = err.Error()
		}
		tm.t.Logf("--- kubectl -n %s %s\n%s", tm.name, strings.Join(args, " "), clip(out, 12000))
	}
	if shared.manager != nil {
		tm.t.Logf("--- what the shared manager logged of %s\n%s", tm.name, clip(shared.manager.logged(tm.name), 6000))
	}
}

// clip keeps the end of a text, which shows the failure.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return "[...]\n" + text[len(text)-most:]
}

func cpu(amount string) setting {
	return func(t *v1alpha1.Trigger) {
		container(t).Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
	}
}

// patchSuite is kubectl patch suite.
func (tm *team) patchSuite(id, patch string) {
	tm.t.Helper()
	s := &v1alpha1.Suite{ObjectMeta: tm.meta(id)}
	if err := tm.Patch(tm.t.Context(), s, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		tm.t.Fatal(err)
	}
}
