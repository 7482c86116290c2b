package serviceaccount

import (
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
)

// verbsFor returns what a ServiceAccount must be allowed to do with Suites of a team. To cancel a run is to patch its Suite, and to rerun
// it is to create another one.
func verbsFor(a grant.Action) []string {
	switch a {
	case grant.Notify, grant.Upload:
		return []string{"create"}
	case grant.Outcome, grant.Read:
		return []string{"get"}
	case grant.Act:
		return []string{"create", "patch"}
	default:
		return nil
	}
}

// VerbsOf returns the verbs of all the actions.
func VerbsOf(actions []grant.Action) (verbs []string) {
	for _, a := range actions {
		verbs = append(verbs, verbsFor(a)...)
	}
	slices.Sort(verbs)
	return slices.Compact(verbs)
}

// Granted returns the actions whose verbs are all allowed.
func Granted(actions []grant.Action, allowed map[string]bool) (granted []grant.Action) {
	for _, a := range actions {
		verbs := verbsFor(a)
		if len(verbs) > 0 && !slices.ContainsFunc(verbs, func(verb string) bool { return !allowed[verb] }) {
			granted = append(granted, a)
		}
	}
	return granted
}

// AccessReview asks whether the account may do this with all Suites of a namespace.
func AccessReview(a Account, namespace, verb string) *authorizationv1.SubjectAccessReview {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range a.User.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: a.User.Username, UID: a.User.UID, Groups: a.User.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "suites",
		},
	}}
}

// Allowed reports whether the API server allows what it was asked about.
func Allowed(s authorizationv1.SubjectAccessReviewStatus) bool { return s.Allowed && !s.Denied }
