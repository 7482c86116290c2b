package replicas

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/poll"
)

// team is a tenant of one test: a namespace, a key, an Environment and a Trigger that every notification matches.
type team struct {
	t         testing.TB
	s         *apiserver.Server
	namespace string
	key       string
}

func newTeam(t testing.TB, s *apiserver.Server) *team {
	t.Helper()
	tm := teamForGood(t, s)
	t.Cleanup(tm.clear)
	return tm
}

// teamForGood is of a server that ends with the test, and its runs with it.
func teamForGood(t testing.TB, s *apiserver.Server) *team {
	t.Helper()
	ns := s.Namespace(t)
	tm := &team{t: t, s: s, namespace: ns, key: "pf_" + ns}
	tm.create(&v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	tm.create(tm.apiKey("ci", tm.key))
	tm.create(tm.environment())
	tm.create(tm.trigger("smoke"))
	return tm
}

// clear deletes the runs and reviews at the end of a test: the managers of the next ones, on the same server, would go on with them.
func (tm *team) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	err := tm.s.Client.DeleteAllOf(ctx, &v1alpha1.DeploymentReview{}, k8sclient.InNamespace(tm.namespace))
	if err = errors.Join(err, tm.deleteRuns(ctx)); err != nil {
		tm.t.Logf("what is left of %s stays: %v", tm.namespace, err) // such as if the test has stopped its server
	}
}

// deleteRuns also deletes their Jobs: nobody collects garbage.
func (tm *team) deleteRuns(ctx context.Context) error {
	var errs []error
	for _, o := range []k8sclient.Object{&v1alpha1.Suite{}, &batchv1.Job{}} {
		errs = append(errs, tm.s.Client.DeleteAllOf(ctx, o, k8sclient.InNamespace(tm.namespace), k8sclient.PropagationPolicy(metav1.DeletePropagationBackground)))
	}
	return errors.Join(errs...)
}

// startCluster acts as the rest of a cluster. No test ends by itself.
func startCluster(t *testing.T, s *apiserver.Server) {
	t.Helper()
	c := &fakecluster.Cluster{Tests: func(*batchv1.Job) (history.Tests, time.Duration) { return history.Passed, time.Hour }}
	c.Start(t, s)
}

func (tm *team) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: tm.namespace, Name: name}
}

func (tm *team) apiKey(name, key string) *v1alpha1.APIKey {
	sum := sha256.Sum256([]byte(key))
	return &v1alpha1.APIKey{ObjectMeta: tm.meta(name), Spec: v1alpha1.APIKeySpec{SHA256: hex.EncodeToString(sum[:])}}
}

func (tm *team) environment() *v1alpha1.Environment {
	return &v1alpha1.Environment{ObjectMeta: tm.meta("staging"), Spec: v1alpha1.EnvironmentSpec{URL: "https://staging.example.com"}}
}

func (tm *team) trigger(name string) *v1alpha1.Trigger {
	return &v1alpha1.Trigger{ObjectMeta: tm.meta(name), Spec: v1alpha1.TriggerSpec{
		Environment: "staging",
		JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "test", Image: "example.com/test"}},
		}}}},
	}}
}

func (tm *team) create(o k8sclient.Object) {
	tm.t.Helper()
	if err := tm.s.Client.Create(tm.t.Context(), o); err != nil {
		tm.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

// update repeats a change that meets another: the managers write as well, Teams for example.
func (tm *team) update(o k8sclient.Object, change func()) {
	tm.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := tm.s.Client.Get(tm.t.Context(), k8sclient.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change()
		return tm.s.Client.Update(tm.t.Context(), o)
	})
	if err != nil {
		tm.t.Fatal(err)
	}
}

// unbind lets the team have any number of Suites.
func (tm *team) unbind() {
	tm.t.Helper()
	owner := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: tm.namespace}}
	tm.update(owner, func() { owner.Spec.MaxSuites, owner.Spec.MaxUnfinishedSuites = new(int32(0)), new(int32(0)) })
}

func (tm *team) suites() []v1alpha1.Suite {
	tm.t.Helper()
	var list v1alpha1.SuiteList
	if err := tm.s.Client.List(context.Background(), &list, k8sclient.InNamespace(tm.namespace)); err != nil {
		tm.t.Fatal(err)
	}
	return list.Items
}

// awaitKnown waits until every replica knows the team's key and its Trigger.
func (tm *team) awaitKnown(all []*replica) {
	tm.t.Helper()
	for _, r := range all {
		poll.True(tm.t, "the team is known", func() bool {
			a, err := notify(tm.t.Context(), r.URL+"/", tm.key, `{"sha":"warm-up-`+r.URL+`"}`)
			return err == nil && a.Status == 200 && len(a.Results) == 1
		})
	}
	for _, s := range tm.suites() {
		if err := tm.s.Client.Delete(context.Background(), &s); err != nil {
			tm.t.Fatal(err)
		}
	}
}

// newTeamNamed is another tenant of the same test.
func newTeamNamed(tm *team, name string) *team {
	tm.t.Helper()
	other := &team{t: tm.t, s: tm.s, namespace: tm.s.Namespace(tm.t)}
	other.key = "pf_" + name + other.namespace
	other.create(&v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: other.namespace}})
	tm.t.Cleanup(other.clear)
	return other
}

func (tm *team) get(o k8sclient.Object) {
	tm.t.Helper()
	if err := tm.s.Client.Get(tm.t.Context(), k8sclient.ObjectKeyFromObject(o), o); err != nil {
		tm.t.Fatal(err)
	}
}

func (tm *team) remove(o k8sclient.Object) {
	tm.t.Helper()
	if err := tm.s.Client.Delete(tm.t.Context(), o); err != nil {
		tm.t.Fatal(err)
	}
}
