package config

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestNotifier: the role of hooks lets them read Suites, and create none past the manager, which asks for the right to create them.
func TestNotifier(t *testing.T) {
	w := newPolicyWorld(t)
	hook := as(t, w.Server, "hook")
	if err := w.Client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "hooks"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "postflight-notifier"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "hook"}},
	}); err != nil {
		t.Fatal(err)
	}
	run := aSuite(w.ns, "of-the-manager")
	if err := w.runner.Create(t.Context(), run.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the hook reads the run", func() string {
		if err := hook.Get(t.Context(), client.ObjectKeyFromObject(run), &v1alpha1.Suite{}); err != nil {
			return err.Error()
		}
		return ""
	})
	if err := hook.Create(t.Context(), aSuite(w.ns, "past-the-manager")); !denied(err) {
		t.Errorf("a Suite of the hook: got %v, want the policy to deny it", err)
	}
	cancel := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"cancel":true}}`))
	if err := hook.Patch(t.Context(), run, cancel); !apierrors.IsForbidden(err) || denied(err) {
		t.Errorf("cancel: got %v, want RBAC to forbid it", err)
	}
	if err := hook.List(t.Context(), &v1alpha1.TriggerList{}, client.InNamespace(w.ns)); !apierrors.IsForbidden(err) {
		t.Errorf("list Triggers: got %v, want RBAC to forbid it", err)
	}
}
