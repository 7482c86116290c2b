package config

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestWhoMayTrust: a TrustPolicy is worth as much as a key, so those who can write keys can write it, and the owner of a role for it.
func TestWhoMayTrust(t *testing.T) {
	s := installed(t)
	ns := s.Namespace(t)
	named := metav1.ObjectMeta{Namespace: ns, Name: "none"}
	for role, want := range map[string]struct {
		reads, writes bool
		may           client.Object // that it may delete, which shows that it is in force; nil: reading does
	}{
		"postflight-view": {true, false, nil}, "postflight-trustpolicy-editor": {true, true, nil}, "postflight-admin": {true, true, nil},
		"postflight-edit": {false, false, &v1alpha1.Trigger{ObjectMeta: named}},
	} {
		t.Run(role, func(t *testing.T) {
			user := as(t, s, role+"-"+ns)
			binding := &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: role},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: role + "-" + ns}},
			}
			if err := s.Client.Create(t.Context(), binding); err != nil {
				t.Fatal(err)
			}
			poll.Until(t, "the role is in force", func() string {
				if want.may != nil && !apierrors.IsNotFound(user.Delete(t.Context(), want.may)) {
					return "it is not in force"
				}
				if err := user.List(t.Context(), &v1alpha1.TrustPolicyList{}, client.InNamespace(ns)); (err == nil) != want.reads || err != nil && !apierrors.IsForbidden(err) {
					return "reading: not as expected"
				}
				p := &v1alpha1.TrustPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tried"}, Spec: v1alpha1.TrustPolicySpec{
					Issuer: "https://gitlab.com", Claims: map[string]v1alpha1.ClaimValues{"project_id": {"1"}}, Allow: v1alpha1.TrustAllow{Read: true},
				}}
				if err := user.Create(t.Context(), p, client.DryRunAll); (err == nil) != want.writes || err != nil && !apierrors.IsForbidden(err) {
					return "writing: not as expected"
				}
				return ""
			})
		})
	}
}
