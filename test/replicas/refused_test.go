package replicas

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

const suiteCount = corev1.ResourceName("count/suites.postflight.dev")

// TestQuota: if the quota is used up, no run is created, and the answer says why. While a quota is not counted yet,
// for which the API server rejects the Suite, the notification waits. An existing run is a duplicate in any case.
func TestQuota(t *testing.T) {
	s := apiserver.Alone(t)
	tm := newTeam(t, s)
	p := newProxy(t, s.Manager(t))
	all := replicas(t, s, p.kubeconfig(), 1)
	tm.awaitKnown(all)
	limit := corev1.ResourceList{suiteCount: resource.MustParse("1")}
	quota := &corev1.ResourceQuota{ObjectMeta: tm.meta("runs"), Spec: corev1.ResourceQuotaSpec{Hard: limit}}
	tm.create(quota)
	count := func(used corev1.ResourceList) {
		quota.Status = corev1.ResourceQuotaStatus{Hard: limit, Used: used}
		if err := s.Client.Status().Update(t.Context(), quota); err != nil {
			t.Error(err)
		}
	}
	count(nil)
	poll.True(t, "the quota is enforced", func() bool {
		trigger := tm.trigger("smoke")
		tm.get(trigger)
		return apierrors.IsForbidden(s.Client.Create(t.Context(), rawSuite(trigger, "none"), k8sclient.DryRunAll))
	})
	tries, one := p.writes.Load(), make(chan answer, 1)
	go func() { a, _ := notify(t.Context(), all[0].URL, tm.key, `{"sha":"one"}`); one <- a }()
	poll.True(t, "the API server refuses the run", func() bool { return p.writes.Load() > tries })
	count(corev1.ResourceList{suiteCount: resource.MustParse("0")})
	if a := <-one; len(a.Results) != 1 || a.Results[0].Created == "" {
		t.Errorf("before it was counted: %+v, want a run that was created later", a)
	}
	if a := tm.notified(all[0], "two"); !strings.Contains(a.Results[0].Failure, "The quota of the namespace is used up") {
		t.Errorf("beyond it: %+v, want a failure_reason", a)
	}
	if a := tm.notified(all[0], "one"); a.Results[0].Duplicate == "" {
		t.Errorf("a run that exists, beyond it: %+v, want a duplicate", a)
	}
}

// notified is the answer, which has one result.
func (tm *team) notified(r *replica, sha string) answer {
	tm.t.Helper()
	a, err := notify(tm.t.Context(), r.URL, tm.key, `{"sha":"`+sha+`"}`)
	if err != nil || len(a.Results) != 1 {
		tm.t.Fatalf("%+v, %v, want one result", a, err)
	}
	return a
}

// TestNamespaceGone: the namespace is being deleted, or was deleted, while the caches still have the key and the
// Trigger.
func TestNamespaceGone(t *testing.T) {
	s := apiserver.Alone(t)
	tm := newTeam(t, s)
	all := replicas(t, s, kubeconfigOf(t, s.Manager(t)), 1)
	tm.awaitKnown(all)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tm.namespace}}
	tm.remove(ns)
	expectGone(t, all[0], tm, "being deleted")
	tm.get(ns)
	ns.Spec.Finalizers = nil
	if err := s.Client.SubResource("finalize").Update(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	expectGone(t, all[0], tm, "missing")
}

func expectGone(t *testing.T, r *replica, tm *team, what string) {
	t.Helper()
	a, err := notify(t.Context(), r.URL, tm.key, `{"sha":"gone"}`)
	if err != nil || a.Status != 404 || !strings.Contains(a.Body, `"run_not_found"`) {
		t.Errorf("the namespace is %s: %+v, %v, want 404", what, a, err)
	}
}
