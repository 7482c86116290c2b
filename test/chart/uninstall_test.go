package chart

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/tier"
)

// TestUninstall: what the page says about uninstalling leaves nothing behind. CRDs and what people wrote stay until they
// are deleted, and no finalizer keeps anything.
func TestUninstall(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	s := apiserver.Own(t, apiserver.Options{CRDs: t.TempDir()}) // without CRDs
	kubeconfig := apiserver.Kubeconfig(t, s.Config)
	helm(t, kubeconfig, "install", release, path(t, "charts", "postflight"), "--namespace", namespace, "--create-namespace")
	if _, err := s.Kubectl(t, "wait", "--for=condition=Established", "customresourcedefinitions", "--all", "--timeout=60s"); err != nil {
		t.Fatal(err)
	}
	if len(everything(t, s)) < 10 {
		t.Errorf("helm installed %q alone", everything(t, s))
	}
	if err := s.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme"}}); err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "smoke-1"},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging"}}
	if err := s.Client.Create(t.Context(), run); err != nil {
		t.Fatal(err)
	}

	helm(t, kubeconfig, "uninstall", release, "--namespace", namespace)
	var crds []string
	for _, o := range everything(t, s) {
		if strings.HasPrefix(o, "customresourcedefinition.apiextensions.k8s.io/") {
			crds = append(crds, o)
		} else {
			t.Errorf("helm uninstall leaves %s", o)
		}
	}
	if len(crds) != 12 {
		t.Errorf("helm uninstall leaves the CRDs %q, want all 12, with what people wrote", crds)
	}
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(run), run); err != nil {
		t.Errorf("helm uninstall deletes what people wrote: %v", err)
	}

	if out, err := s.Kubectl(t, append([]string{"delete", "--timeout=60s", "customresourcedefinitions"}, documented(t)...)...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if left := everything(t, s); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// documented are the CRDs that the page says to delete.
func documented(t *testing.T) (names []string) {
	t.Helper()
	page, err := os.ReadFile(path(t, "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`kubectl delete customresourcedefinitions \{([a-z,]+)\}(\S+)`).FindStringSubmatch(string(page))
	if m == nil {
		t.Fatal("docs/install.md does not say which CRDs to delete")
	}
	for name := range strings.SplitSeq(m[1], ",") {
		names = append(names, name+m[2])
	}
	return names
}

// everything names the objects of all kinds that have a label or the group of Postflight.
func everything(t *testing.T, s *apiserver.Server) (names []string) {
	t.Helper()
	kinds, err := s.Kubectl(t, "api-resources", "--verbs=list,get", "--output=name")
	if err != nil {
		t.Fatal(err)
	}
	kinds = strings.Join(strings.Fields(kinds), ",")
	all, err := s.Kubectl(t, "get", kinds, "--all-namespaces", "--ignore-not-found", "--output=name", "--selector=app.kubernetes.io/name=postflight")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(all) {
		if !strings.HasPrefix(line, "Warning:") { // of kinds that Kubernetes would rather not have
			names = append(names, strings.TrimSpace(line))
		}
	}
	return names
}

// helm runs the real one in a cluster.
func helm(t *testing.T, kubeconfig string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), helmBinary(t), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
