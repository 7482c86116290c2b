package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/postflight-dev/postflight/test/poll"
)

// TestAccountsOfRecipes applies the accounts of the recipes: each may notify and read in the namespace, and do nothing else.
func TestAccountsOfRecipes(t *testing.T) {
	w := newPolicyWorld(t)
	for file, account := range map[string]string{
		"argocd/postsync.yaml": "postflight", "flux/job.yaml": "postflight", "argo-rollouts/analysis.yaml": "postflight",
		"tekton/task.yaml": "postflight", "flagger/tester.yaml": "postflight-tester",
	} {
		t.Run(file, func(t *testing.T) {
			namespace := w.Namespace(t)
			var accounts []string
			for document := range strings.SplitSeq(read(t, "integrations/"+file), "\n---\n") {
				if strings.Contains(document, "\nkind: ServiceAccount\n") || strings.Contains(document, "\nkind: RoleBinding\n") {
					accounts = append(accounts, document)
				}
			}
			path := filepath.Join(t.TempDir(), "accounts.yaml")
			must(t, os.WriteFile(path, []byte(strings.Join(accounts, "\n---\n")), 0o600))
			if out, err := w.Kubectl(t, "apply", "-n", namespace, "-f", path); err != nil {
				t.Fatal(err, out)
			}
			may := func(verb, group, resource string) bool {
				t.Helper()
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User:               "system:serviceaccount:" + namespace + ":" + account,
					ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: resource},
				}}
				must(t, w.Client.Create(t.Context(), review))
				return review.Status.Allowed
			}
			poll.Until(t, "the account may notify and read", func() string {
				if may("create", "postflight.dev", "suites") && may("get", "postflight.dev", "suites") {
					return ""
				}
				return "it may not"
			})
			for _, other := range [][3]string{
				{"patch", "postflight.dev", "suites"}, {"delete", "postflight.dev", "suites"}, {"create", "postflight.dev", "apikeys"},
				{"get", "", "secrets"}, {"create", "batch", "jobs"}, {"create", "", "pods"},
			} {
				if may(other[0], other[1], other[2]) {
					t.Errorf("the account may %s %s, which it does not need", other[0], other[2])
				}
			}
		})
	}
}
