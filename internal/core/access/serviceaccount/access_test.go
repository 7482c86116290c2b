package serviceaccount_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
)

func TestGranted(t *testing.T) {
	all := grant.Actions
	for name, tc := range map[string]struct {
		reason  string
		asked   []grant.Action
		allowed []string
		verbs   []string
		want    []grant.Action
	}{
		"a notifier":       {"create is enough to notify", []grant.Action{grant.Notify}, []string{"create"}, []string{"create"}, []grant.Action{grant.Notify}},
		"a reader":         {"get is enough to read", []grant.Action{grant.Read}, []string{"get"}, []string{"get"}, []grant.Action{grant.Read}},
		"no right":         {"nothing is granted", []grant.Action{grant.Notify}, nil, []string{"create"}, nil},
		"everything":       {"whoami asks for all", all, []string{"create", "get", "patch"}, []string{"create", "get", "patch"}, all},
		"only create":      {"to act, patch is needed too", all, []string{"create"}, []string{"create", "get", "patch"}, []grant.Action{grant.Notify, grant.Upload}},
		"only patch":       {"to act, create is needed too", []grant.Action{grant.Act}, []string{"patch"}, []string{"create", "patch"}, nil},
		"the two to act":   {"cancel is patch, and repeat is create", []grant.Action{grant.Act}, []string{"create", "patch"}, []string{"create", "patch"}, []grant.Action{grant.Act}},
		"an unknown one":   {"what nobody has thought of is refused", []grant.Action{"delete"}, []string{"create", "get", "patch"}, nil, nil},
		"nothing asked":    {"nothing is granted", nil, []string{"create"}, nil, nil},
		"outcome and read": {"they need the same", []grant.Action{grant.Outcome, grant.Read}, []string{"get"}, []string{"get"}, []grant.Action{grant.Outcome, grant.Read}},
	} {
		t.Run(name, func(t *testing.T) {
			allowed := map[string]bool{}
			for _, verb := range tc.allowed {
				allowed[verb] = true
			}
			if diff := cmp.Diff(tc.want, serviceaccount.Granted(tc.asked, allowed)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.verbs, serviceaccount.VerbsOf(tc.asked)); diff != "" {
				t.Errorf("verbs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAccessReview(t *testing.T) {
	account, _ := serviceaccount.Recognized(authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: []string{"postflight"}, User: ci}, "postflight")
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:acme:ci", UID: "uid", Groups: []string{"system:serviceaccounts"},
		Extra: map[string]authorizationv1.ExtraValue{"authentication.kubernetes.io/pod-name": {"hook"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: "shop", Verb: "create", Group: "postflight.dev", Version: "v1alpha1", Resource: "suites",
		},
	}
	if diff := cmp.Diff(want, serviceaccount.AccessReview(account, "shop", "create").Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, s := range map[string]authorizationv1.SubjectAccessReviewStatus{"no": {}, "denied": {Allowed: true, Denied: true}} {
		if serviceaccount.Allowed(s) {
			t.Errorf("%s is allowed", name)
		}
	}
}
