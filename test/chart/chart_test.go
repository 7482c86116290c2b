package chart

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/tier"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }

const (
	release   = "postflight"
	namespace = "postflight-system"
)

func path(t *testing.T, names ...string) string {
	t.Helper()
	root, err := apiserver.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root}, names...)...)
}

func helmBinary(t *testing.T) string {
	t.Helper()
	helm := path(t, "bin", "helm")
	if _, err := os.Stat(helm); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED, NOT PASSED: build helm by `make helm`: %v", err)
	}
	return helm
}

// template renders the chart as a release of another name and namespace would be, and returns what helm prints.
func template(t *testing.T, name, namespace string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), helmBinary(t), append([]string{"template", name, path(t, "charts", "postflight"), "--namespace", namespace}, args...)...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.New(stderr.String())
	}
	return string(out), err
}

// objects are the manifests of a text, by kind and name.
func objects(t *testing.T, manifests string) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) == 0 {
			continue
		}
		name := object.GetKind() + " " + object.GetName()
		if all[name] != nil && all[name].GetNamespace() == object.GetNamespace() {
			t.Errorf("%s is there twice", name)
		}
		all[name] = object
	}
}

// ofChart are the labels that only a chart sets.
var ofChart = []string{"app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"}

// normalize removes what differs between the chart with its default values and config/default on purpose: the labels
// of a chart, the annotation that keeps the CRDs, and flags, which TestChartFlags compares.
func normalize(o map[string]any) {
	for key, value := range o {
		child, ok := value.(map[string]any)
		switch key {
		case "labels", "matchLabels", "selector":
			for _, label := range ofChart {
				delete(child, label)
			}
		case "annotations":
			delete(child, "helm.sh/resource-policy")
		}
		normalizeValue(value)
		if ok && len(child) == 0 && key != "emptyDir" {
			delete(o, key)
		}
	}
}

func normalizeValue(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			normalizeValue(item)
		}
	case map[string]any:
		if value["name"] == "manager" && value["args"] != nil {
			delete(value, "args")
		}
		normalize(value)
	}
}

// TestSameAsKustomize: with its default values, the chart installs what config/default installs, but for the
// namespace, which Helm creates if it is asked to.
func TestSameAsKustomize(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	built, err := apiserver.New(t).Kubectl(t, "kustomize", path(t, "config", "default"))
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := template(t, release, namespace)
	if err != nil {
		t.Fatal(err)
	}
	want, got := objects(t, built), objects(t, rendered)
	delete(want, "Namespace "+namespace)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("objects (-kustomize +chart):\n%s", diff)
	}
	for name, object := range want {
		if got[name] == nil {
			continue
		}
		if object.GetLabels() == nil { // controller-gen writes none
			object.SetLabels(map[string]string{"app.kubernetes.io/name": "postflight"})
		}
		normalize(object.Object)
		normalize(got[name].Object)
		if diff := cmp.Diff(object.Object, got[name].Object); diff != "" {
			t.Errorf("%s (-kustomize +chart):\n%s", name, diff)
		}
	}
}

// TestSecondRelease: a release of another name, elsewhere, shares no object with the first but the CRDs.
func TestSecondRelease(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	first, err := template(t, release, namespace)
	if err != nil {
		t.Fatal(err)
	}
	second, err := template(t, "other", "elsewhere", "--set", "crds.enabled=false")
	if err != nil {
		t.Fatal(err)
	}
	taken := objects(t, first)
	for name, object := range objects(t, second) {
		if object.GetNamespace() != "" && object.GetNamespace() != "elsewhere" {
			t.Errorf("%s is in the namespace %s", name, object.GetNamespace())
		}
		if object.GetNamespace() == "" && taken[name] != nil {
			t.Errorf("%s belongs to the first release", name)
		}
	}
	if account := "username == 'system:serviceaccount:elsewhere:other-postflight-manager'"; !strings.Contains(second, account) {
		t.Errorf("no policy bounds the account of the second release, by %s", account)
	}
	if strings.Contains(second, namespace) {
		t.Errorf("the second release names the namespace of the first:\n%s", second)
	}
}

// TestValues: wrong values are refused, with a reason.
func TestValues(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	for name, tc := range map[string]struct{ set, reason string }{
		"unknown":                       {"replicaCount=2", "replicaCount"},
		"wrong type":                    {"replicas=two", "replicas"},
		"no digest":                     {"image.digest=latest", "image/digest"},
		"a duration without unit":       {"holdBudget=45", "holdBudget"},
		"a version of TLS":              {"tls.minVersion=1.1", "minVersion"},
		"an unknown level":              {"logLevel=TRACE", "logLevel"},
		"TLS without a certificate":     {"tls.enabled=true", "tls.existingSecret"},
		"a bucket without a store":      {"store.bucket=a", "store.endpoint"},
		"a store without a bucket":      {"store.endpoint=https://example.com", "store.bucket"},
		"signatures that nothing keeps": {"attestation.existingSecret=a", "needs store.bucket"},
		"an App without its key":        {"github.appID=1", "github.existingSecret"},
		"events of no App":              {"github.webhook=true", "github.appID"},
		"namespaces without Teams":      {"watchNamespaces={acme}", "needs teams"},
		"several without a leader":      {"leaderElect=false", "leaderElect"},
		"a collector without scheme":    {"tracing.endpoint=collector:4318", "tracing/endpoint"},
		"an address, not a network":     {"webhooks.allowNetworks={10.20.0.1}", "allowNetworks"},
		"an Ingress without a host":     {"ingress.enabled=true", "ingress.enabled needs ingress.hosts"},
		"a URL, not a host":             {"ingress.enabled=true,ingress.hosts={https://example.com}", "ingress/hosts"},
		"a route without a Gateway":     {"httpRoute.enabled=true", "httpRoute.parentRefs"},
		"an address of clients":         {"service.loadBalancerSourceRanges={203.0.113.7}", "loadBalancerSourceRanges"},
		"an alias without an address":   {"hostAliases[0].hostnames={git.example.com}", "hostAliases"},
		"a Route without a host":        {"route.enabled=true", "route.host"},
		"an edge before HTTPS":          {"tls.enabled=true,tls.existingSecret=a,route.enabled=true,route.host=a.example.com", "reencrypt or passthrough"},
		"a Route to HTTPS without it":   {"route.enabled=true,route.host=a.example.com,route.tls.termination=passthrough", "needs tls.enabled"},
		"an unknown TLS of a Route":     {"route.enabled=true,route.host=a.example.com,route.tls.termination=end", "route/tls/termination"},
		"an unknown key of signing in":  {"signIn.config.oicd.issuer=https://dex.example.com", "signIn/config"},
		"a provider without a client":   {"signIn.config.oidc.issuer=https://dex.example.com", "clientID"},
		"a group without a team":        {"signIn.config.groups[0].group=devs", "team"},
		"an issuer by plain http":       {"tokenIssuers[0].name=a,tokenIssuers[0].url=http://ci.example.com", "tokenIssuers/0/url"},
		"an issuer of shared secrets":   {"tokenIssuers[0].name=a,tokenIssuers[0].url=https://ci.example.com,tokenIssuers[0].algorithms={HS256}", "algorithms"},
		"an issuer without a name":      {"tokenIssuers[0].url=https://ci.example.com", "name"},
		"a certificate without issuer":  {"tls.enabled=true,tls.certManager.enabled=true", "issuerRef.name"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := template(t, release, namespace, "--set", tc.set); err == nil || !strings.Contains(err.Error(), tc.reason) {
				t.Errorf("got %v, want an error about %q", err, tc.reason)
			}
		})
	}
}
