package config

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// bind gives a ClusterRole to a user in a namespace.
func bind(t *testing.T, s *apiserver.Server, ns, user, role string) {
	t.Helper()
	must(t, s.Client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}))
}

// rights of a role.
type rights struct {
	reads, writes bool
	deletes       client.Object // of another kind, which shows that the role is in force; nil: reading does
}

func testRoles(t *testing.T, s *apiserver.Server, ns string, roles map[string]rights, list client.ObjectList, object client.Object) {
	for role, want := range roles {
		t.Run(role, func(t *testing.T) {
			user := as(t, s, role+"-"+ns)
			bind(t, s, ns, role+"-"+ns, role)
			poll.Until(t, "the role is in force", func() string {
				if want.deletes != nil && !apierrors.IsNotFound(user.Delete(t.Context(), want.deletes)) {
					return "it is not in force"
				}
				if err := user.List(t.Context(), list, client.InNamespace(ns)); (err == nil) != want.reads || err != nil &&
					!apierrors.IsForbidden(err) {
					return "reading: not as expected"
				}
				created := object.DeepCopyObject().(client.Object)
				if err := user.Create(t.Context(), created, client.DryRunAll); (err == nil) != want.writes || err != nil &&
					!apierrors.IsForbidden(err) {
					return "writing: not as expected"
				}
				return ""
			})
		})
	}
}

// TestWhoMayQuarantine: writing a Quarantine is a right of its own, which needs no other one.
func TestWhoMayQuarantine(t *testing.T) {
	s := installed(t)
	ns := s.Namespace(t)
	named := metav1.ObjectMeta{Namespace: ns, Name: "none"}
	testRoles(t, s, ns, map[string]rights{
		"postflight-view": {true, false, nil}, "postflight-quarantine-editor": {true, true, nil},
		"postflight-edit": {false, false, &v1alpha1.Trigger{ObjectMeta: named}}, "postflight-admin": {false, false,
			&v1alpha1.APIKey{ObjectMeta: named}},
	}, &v1alpha1.QuarantineList{}, &v1alpha1.Quarantine{ObjectMeta: metav1.ObjectMeta{Namespace: ns,
		Name: "tried"}, Spec: v1alpha1.QuarantineSpec{
		Triggers: []string{"e2e"}, Tests: []string{"cart"}, Reason: "r", Owner: "o", Since: "2026-11-20", Until: "2026-12-01",
	}})
}

// TestWhoMayTrust: a TrustPolicy is worth as much as a key, so those who can write keys can write it, and the owner of a role for it.
func TestWhoMayTrust(t *testing.T) {
	s := installed(t)
	ns := s.Namespace(t)
	named := metav1.ObjectMeta{Namespace: ns, Name: "none"}
	testRoles(t, s, ns, map[string]rights{
		"postflight-view": {true, false, nil}, "postflight-trustpolicy-editor": {true, true, nil}, "postflight-admin": {true, true, nil},
		"postflight-edit": {false, false, &v1alpha1.Trigger{ObjectMeta: named}},
	}, &v1alpha1.TrustPolicyList{}, &v1alpha1.TrustPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns,
		Name: "tried"}, Spec: v1alpha1.TrustPolicySpec{
		Issuer: "https://gitlab.com", Claims: map[string]v1alpha1.ClaimValues{"project_id": {"1"}}, Allow: v1alpha1.TrustAllow{Read: true},
	}})
}

// TestNotifier: the role of hooks lets them read Suites, and create none past the manager, which asks for the right to create them.
func TestNotifier(t *testing.T) {
	w := newPolicyWorld(t)
	hook := as(t, w.Server, "hook")
	bind(t, w.Server, w.ns, "hook", "postflight-notifier")
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
