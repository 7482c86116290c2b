package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
)

func cleanup() context.Context { return context.Background() }

// team is a Team of the hub and the one of the same name in the cluster. Its Environment staging is in the cluster.
type team struct {
	*world
	t             testing.TB
	name          string
	toHub, direct sender // with API keys
}

const staging = "staging"

// newTeam has a Trigger for each name in the cluster, and lets the hub in.
func (w *world) newTeam(t testing.TB, triggers ...string) *team {
	t.Helper()
	tm := w.newTeamBy(t, east, triggers...)
	tm.trusts(w.cluster, w.hub, v1alpha1.TrustAllow{Notify: &v1alpha1.TrustNotify{}, Upload: true, Read: true, Act: true})
	tm.awaitKnown()
	return tm
}

// newKeyedTeam lets the hub in by an API key.
func (w *world) newKeyedTeam(t testing.TB, triggers ...string) *team {
	t.Helper()
	tm := w.newTeamBy(t, keyed, triggers...)
	key := "pf_of_the_hub_" + tm.name
	tm.createKey(w.cluster, "hub", key)
	if err := os.WriteFile(filepath.Join(w.keys, keyed+"."+tm.name), []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tm.awaitKnown()
	return tm
}

func (w *world) newTeamBy(t testing.TB, cluster string, triggers ...string) *team {
	t.Helper()
	tm := &team{world: w, t: t, name: w.hub.Namespace(t)}
	w.cluster.namespace(t, tm.name)
	tm.toHub, tm.direct = sender{t, w.hub.manager.URL, "pf_hub_" + tm.name}, sender{t, w.cluster.manager.URL, "pf_direct_" + tm.name}
	for s, key := range map[*side]string{w.hub: tm.toHub.key, w.cluster: tm.direct.key} {
		unlimited := new(int32(0))
		s.create(t, &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: tm.name},
			Spec: v1alpha1.TeamSpec{MaxSuites: unlimited, MaxUnfinishedSuites: unlimited}})
		tm.createKey(s, "ci", key)
		t.Cleanup(func() { tm.clear(s) })
	}
	w.hub.create(t, tm.environment(staging, v1alpha1.EnvironmentSpec{Cluster: cluster}))
	w.cluster.create(t, tm.environment(staging, v1alpha1.EnvironmentSpec{URL: "https://staging.example.com"}))
	for _, name := range triggers {
		w.cluster.create(t, tm.trigger(name, staging))
	}
	return tm
}

// clear ends what the managers of the next test on the same server would continue.
func (tm *team) clear(s *side) {
	for _, o := range []client.Object{&v1alpha1.Suite{}, &batchv1.Job{}, &v1alpha1.Environment{}} {
		if err := s.Client.DeleteAllOf(cleanup(), o, client.InNamespace(tm.name)); err != nil {
			tm.t.Logf("what is left of %s stays: %v", tm.name, err)
		}
	}
}

func (tm *team) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: tm.name, Name: name}
}

func (tm *team) createKey(s *side, name, key string) {
	tm.t.Helper()
	sum := sha256.Sum256([]byte(key))
	s.create(tm.t, &v1alpha1.APIKey{ObjectMeta: tm.meta(name), Spec: v1alpha1.APIKeySpec{SHA256: hex.EncodeToString(sum[:])}})
}

func (tm *team) environment(name string, spec v1alpha1.EnvironmentSpec) *v1alpha1.Environment {
	return &v1alpha1.Environment{ObjectMeta: tm.meta(name), Spec: spec}
}

// trigger matches all notifications.
func (tm *team) trigger(name, environment string) *v1alpha1.Trigger {
	return &v1alpha1.Trigger{ObjectMeta: tm.meta(name), Spec: v1alpha1.TriggerSpec{
		Environment: environment,
		Supersede:   v1alpha1.SupersedeNone,
		JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "test", Image: "example.com/test"}},
		}}}},
	}}
}

// trusts lets the other side's manager in.
func (tm *team) trusts(at, other *side, allow v1alpha1.TrustAllow) {
	tm.t.Helper()
	at.create(tm.t, &v1alpha1.TrustPolicy{ObjectMeta: tm.meta("hub"), Spec: v1alpha1.TrustPolicySpec{
		Issuer: other.issuer(), Audiences: []string{audience}, Claims: map[string]v1alpha1.ClaimValues{"sub": {account}}, Allow: allow,
	}})
}

// awaitKnown waits until both managers know the team, and its Cluster is Ready: the hub has asked the cluster who it is there.
func (tm *team) awaitKnown() {
	tm.t.Helper()
	for _, s := range []sender{tm.toHub, tm.direct} {
		poll.Until(tm.t, "the team is known", func() string {
			if a := s.try("GET", "/api/v0/environments/"+staging, ""); a.status != 200 {
				return a.String()
			}
			return ""
		})
	}
	poll.Until(tm.t, "the Triggers are known", func() string {
		list := &v1alpha1.TriggerList{}
		if err := tm.cluster.Client.List(tm.t.Context(), list, client.InNamespace(tm.name)); err != nil {
			return err.Error()
		}
		if a := tm.toHub.try("POST", notifyPath+"?dryRun=true", `{"sha":"none"}`); a.status != 200 || len(a.explanations()) != len(list.Items) {
			return a.String()
		}
		return ""
	})
}

// awaitReady waits for the condition of a Cluster. The hub asks each minute, and after each change of the spec.
func (w *world) awaitReady(t testing.TB, cluster string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	c, asked := &v1alpha1.Cluster{}, 0
	poll.Until(t, "the Cluster is "+reason, func() string {
		if err := w.hub.Client.Get(t.Context(), client.ObjectKey{Name: cluster}, c); err != nil {
			return err.Error()
		}
		ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
		switch {
		case ready == nil:
			return "there is no condition"
		case ready.Status == status && ready.Reason == reason:
			return ""
		case ready.ObservedGeneration == c.Generation:
			asked++
			c.Spec.Teams = []string{"*", fmt.Sprintf("asked-%d", asked)}
			if err := w.hub.Client.Update(t.Context(), c); err != nil {
				return err.Error()
			}
		}
		return string(ready.Status) + " " + ready.Reason + ": " + ready.Message
	})
}

// suites are the runs of the team at a side.
func (tm *team) suites(s *side) []v1alpha1.Suite {
	tm.t.Helper()
	list := &v1alpha1.SuiteList{}
	if err := s.Client.List(tm.t.Context(), list, client.InNamespace(tm.name)); err != nil {
		tm.t.Fatal(err)
	}
	return list.Items
}

// update repeats a change that meets another.
func (tm *team) update(s *side, o client.Object, change func()) {
	tm.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := s.Client.Get(tm.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change()
		return s.Client.Update(tm.t.Context(), o)
	})
	if err != nil {
		tm.t.Fatal(err)
	}
}
