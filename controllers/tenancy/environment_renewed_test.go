package tenancy

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestRenewedUnseen: the cache does not have a renewal yet. No run may be canceled, because that cannot be undone.
func TestRenewedUnseen(t *testing.T) {
	environment := func(left time.Duration) *v1alpha1.Environment {
		return &v1alpha1.Environment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "pr-1"},
			Spec:       v1alpha1.EnvironmentSpec{Ephemeral: &v1alpha1.EphemeralEnvironment{ExpiresAt: metav1.NewTime(time.Now().Add(left))}},
		}
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	holds := func(o ...client.Object) client.Client {
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(o...).Build()
	}
	live := holds(environment(time.Hour))
	r := &EnvironmentReconciler{Client: holds(environment(-time.Second)), Live: live, Clock: clock.RealClock{}}
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "acme", Name: "pr-1"}})
	if err != nil || result.RequeueAfter < time.Minute {
		t.Errorf("got %+v, %v; want it to wait for the renewed end", result, err) // the cache has no index, so that looking for runs would fail
	}
}
