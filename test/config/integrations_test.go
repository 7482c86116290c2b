package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestJobsOfIntegrations puts the Jobs beside the manifests of an application, as their comments say. Kustomize must
// accept the Jobs, and the API server the result.
func TestJobsOfIntegrations(t *testing.T) {
	s := apiserver.New(t)
	for name, file := range map[string]string{"argocd": "argocd/postsync.yaml", "flux": "flux/job.yaml"} {
		t.Run(name, func(t *testing.T) {
			kustomization := "namespace: " + s.Namespace(t) + "\nresources: [job.yaml]\npatches:\n" +
				"- target: {kind: Job, name: postflight}\n" +
				"  patch: '- {op: replace, path: /spec/template/spec/containers/0/env/1/value, value: feature/pay}'\n" +
				"images: [{name: postflight/postflight, newName: registry.example.com/postflight, newTag: '1'}]\n"
			dir := kustomize(t, kustomization)
			copyFile(t, "integrations/"+file, filepath.Join(dir, "job.yaml"))
			built, err := s.Kubectl(t, "kustomize", dir)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(built, "- name: POSTFLIGHT_BRANCH\n          value: feature/pay\n") ||
				!strings.Contains(built, "image: registry.example.com/postflight:1\n") {
				t.Errorf("branch or image is not filled in:\n%s", built)
			}
			if out, err := s.Kubectl(t, "apply", "--server-side", "--validate=strict", "--dry-run=server", "-k", dir); err != nil ||
				strings.Contains(out, "arning") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestInstall builds the kustomization of docs/install.md: the manager has the image that it names.
func TestInstall(t *testing.T) {
	s := apiserver.New(t)
	dir := kustomize(t, kustomizationOf(t, "docs/install.md"))
	if err := os.Symlink(folder(t, ".."), filepath.Join(dir, "postflight")); err != nil {
		t.Fatal(err)
	}
	built, err := s.Kubectl(t, "kustomize", dir)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(built, "image: registry.example.com/postflight:1\n") || strings.Contains(built, "postflight/postflight") {
		t.Error("the image of the manager is not replaced")
	}
}

// kustomizationOf returns the kustomization of a page.
func kustomizationOf(t *testing.T, page string) string {
	t.Helper()
	_, block, found := strings.Cut(read(t, page), "```yaml\n# kustomization.yaml,")
	block, _, ended := strings.Cut(block, "\n```")
	if !found || !ended {
		t.Fatalf("%s has no kustomization", page)
	}
	return "#" + block + "\n"
}

// kustomize makes a folder with a kustomization.
func kustomize(t *testing.T, kustomization string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.WriteFile(to, []byte(read(t, from)), 0o644))
}

// TestCommitFromTag builds the kustomization of docs/gitops.md, Argo CD: the Job reports the commit that the image names.
func TestCommitFromTag(t *testing.T) {
	s := apiserver.New(t)
	dir := kustomize(t, kustomizationOf(t, "docs/gitops.md"))
	copyFile(t, "integrations/argocd/postsync.yaml", filepath.Join(dir, "postsync.yaml"))
	deployment := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\n" +
		"spec: {template: {spec: {containers: [{name: shop, image: shop}]}}}\n"
	if err := os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(deployment), 0o644); err != nil {
		t.Fatal(err)
	}
	built, err := s.Kubectl(t, "kustomize", dir)
	if err != nil {
		t.Fatal(err)
	}
	_, tag, _ := strings.Cut(built, "image: registry.example.com/shop:")
	tag, _, _ = strings.Cut(tag, "\n")
	if tag == "" || !strings.Contains(built, "- name: POSTFLIGHT_SHA\n          value: "+tag+"\n") {
		t.Errorf("the Job does not report the tag %q of the image:\n%s", tag, built)
	}
	if !strings.Contains(built, "image: registry.example.com/postflight:1\n") {
		t.Errorf("the image of the Job is not replaced:\n%s", built)
	}
}

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
