package main

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestScheduleTestsAgain what a client has notified: the whole manager, with its rights.
func TestScheduleTestsAgain(t *testing.T) {
	s := apiserver.Alone(t)
	m := startManager(t, apiserver.Kubeconfig(t, s.Manager(t)), 0, leads)
	tn := newTenant(t, s)
	first := tn.deploy(t, m.url, "5ca1ab1e")
	j := &batchv1.Job{}
	poll.True(t, "the run has a Job", func() bool { return s.Client.Get(t.Context(), client.ObjectKeyFromObject(first), j) == nil })
	passes(t, s.Client, j)
	poll.True(t, "it has passed", func() bool { return tn.state(t, first) == v1alpha1.ReasonPassed })

	smoke := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: tn.namespace, Name: "smoke"}}
	change := func(write func(*v1alpha1.Trigger, client.Patch) error, change func()) {
		t.Helper()
		if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(smoke), smoke); err != nil {
			t.Fatal(err)
		}
		was := smoke.DeepCopy()
		change()
		if err := write(smoke, client.MergeFrom(was)); err != nil {
			t.Fatal(err)
		}
	}
	spec := func(o *v1alpha1.Trigger, p client.Patch) error { return s.Client.Patch(t.Context(), o, p) }
	status := func(o *v1alpha1.Trigger, p client.Patch) error { return s.Client.Status().Patch(t.Context(), o, p) }
	change(spec, func() { smoke.Spec.Schedule = &v1alpha1.TriggerSchedule{Cron: "*/5 * * * *"} })
	poll.True(t, "the next time is known", func() bool {
		return s.Client.Get(t.Context(), client.ObjectKeyFromObject(smoke), smoke) == nil && smoke.Status.Schedule != nil
	})
	since := metav1.NewTime(time.Now().Add(-time.Hour)) // as after an outage
	change(status, func() { smoke.Status.Schedule.Since = since })
	change(spec, func() { smoke.Spec.MaxConcurrentSuites = 1 })

	var again v1alpha1.Suite
	poll.True(t, "the commit is tested again", func() bool {
		list := &v1alpha1.SuiteList{}
		if err := s.Client.List(t.Context(), list, client.InNamespace(tn.namespace)); err != nil {
			t.Fatal(err)
		}
		for _, other := range list.Items {
			if other.Name != first.Name {
				again = other
			}
		}
		return len(list.Items) == 2
	})
	if again.Spec.Attempt != 2 || again.Spec.Deployment.SHA != "5ca1ab1e" || again.Spec.Deployment.Branch != "main" ||
		again.ScheduledFor().Before(since.Add(50*time.Minute)) {
		t.Errorf("%+v, for %s", again.Spec, again.ScheduledFor())
	}
	poll.True(t, "it has a Job", func() bool { return tn.hasJob(t, &again) })
}
