package config

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	grants "github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/server/auth/issuer"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// site is a folder of integrations/clusters, as kustomize builds it.
type site struct {
	clusters     []v1alpha1.Cluster
	environments []v1alpha1.Environment
	policies     []v1alpha1.TrustPolicy
	triggers     []v1alpha1.Trigger
	issuers      []issuer.Issuer
}

// TestFiveClusters: the API servers take all files, and those of a cluster fit to those of its hub.
func TestFiveClusters(t *testing.T) {
	s := apiserver.Alone(t)
	must(t, s.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
	hub := siteOf(t, s, "hub")
	if len(hub.clusters) != 5 || len(hub.environments) != 5 || len(hub.triggers) != 0 {
		t.Fatalf("the hub has %d Clusters, %d Environments and %d Triggers", len(hub.clusters), len(hub.environments), len(hub.triggers))
	}
	audiences := map[string]bool{}
	for _, e := range hub.environments {
		c := hub.clusters[slices.IndexFunc(hub.clusters, func(c v1alpha1.Cluster) bool { return c.Name == e.Spec.Cluster })]
		there := siteOf(t, s, e.Spec.Cluster)
		if len(there.environments) != 1 || there.environments[0].Name != e.Name || there.environments[0].Spec.Cluster != "" {
			t.Errorf("%s has the Environments %+v, want %s", c.Name, there.environments, e.Name)
		}
		policy, listed := there.policies[0], there.issuers[0]
		if !slices.Equal(policy.Spec.Audiences, []string{c.Spec.TokenAudience()}) || !slices.Equal(listed.Audiences, policy.Spec.Audiences) ||
			policy.Spec.Issuer != listed.URL {
			t.Errorf("%s: the hub asks for tokens for %s, the TrustPolicy trusts %q of %s, and %q of %s are listed",
				c.Name, c.Spec.TokenAudience(), policy.Spec.Audiences, policy.Spec.Issuer, listed.Audiences, listed.URL)
		}
		if audiences[c.Spec.TokenAudience()] {
			t.Errorf("%s could use its tokens at another cluster", c.Name)
		}
		audiences[c.Spec.TokenAudience()] = true
		if !slices.Equal(policy.Spec.Claims["sub"], v1alpha1.ClaimValues{"system:serviceaccount:postflight-system:postflight-manager"}) {
			t.Errorf("%s trusts %q", c.Name, policy.Spec.Claims)
		}
		if named := policy.Spec.Allow.Notify; named == nil || !slices.Equal(named.Environments, []string{e.Name}) {
			t.Errorf("%s lets the hub notify of %+v, want %s alone", c.Name, named, e.Name)
		}
		for _, trigger := range there.triggers {
			if trigger.Spec.Environment != e.Name || !grants.Matches(e.Spec.DeploymentTypes, trigger.Spec.Match.DeploymentTypes[0]) {
				t.Errorf("%s: no notification of the hub reaches the Trigger %s", c.Name, trigger.Name)
			}
		}
		if len(there.triggers) != 1 {
			t.Errorf("%s has %d Triggers", c.Name, len(there.triggers))
		}
	}
}

func siteOf(t *testing.T, s *apiserver.Server, name string) (found site) {
	t.Helper()
	dir := filepath.Join(folder(t, ".."), "integrations", "clusters", name)
	built, err := s.Kubectl(t, "kustomize", dir)
	must(t, err)
	out, err := s.Kubectl(t, "apply", "--server-side", "--validate=strict", "--dry-run=server", "-k", dir)
	if err != nil || strings.Contains(out, "arning") {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
	for decoder := k8syaml.NewYAMLOrJSONDecoder(strings.NewReader(built), 4096); ; {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(u); errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		switch u.GetKind() {
		case "Cluster":
			found.clusters = append(found.clusters, decoded[v1alpha1.Cluster](t, u))
		case "Environment":
			found.environments = append(found.environments, decoded[v1alpha1.Environment](t, u))
		case "TrustPolicy":
			found.policies = append(found.policies, decoded[v1alpha1.TrustPolicy](t, u))
		case "Trigger":
			found.triggers = append(found.triggers, decoded[v1alpha1.Trigger](t, u))
		}
	}
	found.issuers = issuersOf(t, filepath.Join(dir, "values.yaml"))
	return found
}

func decoded[T any](t *testing.T, u *unstructured.Unstructured) (object T) {
	t.Helper()
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &object))
	return object
}

// issuersOf reads the values of a chart as the manager reads the file that the chart makes of them.
func issuersOf(t *testing.T, values string) []issuer.Issuer {
	t.Helper()
	var v struct {
		TokenIssuers []any `json:"tokenIssuers"`
	}
	content, err := os.ReadFile(values)
	must(t, err)
	must(t, yaml.Unmarshal(content, &v))
	text, err := yaml.Marshal(map[string]any{"issuers": v.TokenIssuers})
	must(t, err)
	file := filepath.Join(t.TempDir(), "issuers.yaml")
	must(t, os.WriteFile(file, text, 0o600))
	all, err := issuer.Load(file)
	must(t, err)
	return all
}

// TestTokensOfTheHub: the manager gets tokens of its own ServiceAccount, and of no other.
func TestTokensOfTheHub(t *testing.T) {
	s := installed(t)
	manager, err := client.New(s.Manager(t), client.Options{Scheme: s.Scheme})
	must(t, err)
	account := func(namespace, name string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	ask := func(a *corev1.ServiceAccount) error {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"postflight-eu"}}}
		return manager.SubResource("token").Create(t.Context(), a, request)
	}
	poll.Until(t, "the manager gets a token of its own", func() string {
		if err := ask(account("postflight-system", "postflight-manager")); err != nil {
			return err.Error()
		}
		return ""
	})
	ns := s.Namespace(t)
	for _, other := range []*corev1.ServiceAccount{account("postflight-system", "other"), account(ns, "other"), account(ns, "postflight-manager")} {
		must(t, s.Client.Create(t.Context(), other))
		if err := ask(other); !apierrors.IsForbidden(err) {
			t.Errorf("a token of %s/%s: got %v, want it to be forbidden", other.Namespace, other.Name, err)
		}
	}
}
