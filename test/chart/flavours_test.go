package chart

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/tier"
)

// foreignCRDs are those of other projects that manifests of the chart need, in the modules that hack/tools/crds pins.
var foreignCRDs = map[string][]string{
	"sigs.k8s.io/gateway-api":  {"config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
	"github.com/openshift/api": {"route/v1/route.crd.yaml"},
	"github.com/prometheus-operator/prometheus-operator": {
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
	},
	"github.com/cert-manager/cert-manager": {"deploy/crds/cert-manager.io_certificates.yaml"},
}

func applyForeignCRDs(t *testing.T, s *apiserver.Server) {
	t.Helper()
	applyCRDs(t, s, foreignCRDs)
}

func applyCRDs(t *testing.T, s *apiserver.Server, ofModules map[string][]string) {
	t.Helper()
	for module, files := range ofModules {
		cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
		cmd.Dir = path(t, "hack", "tools", "crds")
		out, err := cmd.Output()
		var downloaded struct{ Dir string }
		if jsonErr := json.Unmarshal(out, &downloaded); err != nil || jsonErr != nil {
			t.Fatalf("%s: %v, %v\n%s", module, err, jsonErr, out)
		}
		for _, file := range files {
			if _, err := s.Kubectl(t, "apply", "--server-side", "-f", filepath.Join(downloaded.Dir, file)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.Kubectl(t, "wait", "--for=condition=Established", "customresourcedefinitions", "--all", "--timeout=60s"); err != nil {
		t.Fatal(err)
	}
}

// TestFlavours: an API server accepts every manifest, with all kinds of values, and knows every field of it.
func TestFlavours(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	s := apiserver.Alone(t)
	applyForeignCRDs(t, s)
	for _, name := range []string{namespace, "acme-web", "acme-app"} {
		// The API server warns of Deployments whose pods it would refuse.
		restricted := map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}
		if err := s.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: restricted}}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(path(t, "charts", "postflight", "ci", "*-values.yaml"))
	if err != nil || len(files) < 9 {
		t.Fatalf("%d flavours: %v", len(files), err)
	}
	for _, file := range files {
		flavour := strings.TrimSuffix(filepath.Base(file), "-values.yaml")
		t.Run(flavour, func(t *testing.T) {
			rendered, err := template(t, release, namespace, "--values", file)
			if err != nil {
				t.Fatal(err)
			}
			checkHardened(t, objects(t, rendered), flavour == "openshift")
			manifests := filepath.Join(t.TempDir(), "manifests.yaml")
			if err := os.WriteFile(manifests, []byte(rendered), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := s.Kubectl(t, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", manifests)
			if err != nil || strings.Contains(strings.ToLower(out), "warning") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestKustomizeComponents: an API server accepts the parts of config that an installation may add.
func TestKustomizeComponents(t *testing.T) {
	tier.All(t, "it downloads the CRDs of other projects")
	s := apiserver.Alone(t)
	applyForeignCRDs(t, s)
	for _, name := range []string{"tls", "monitoring"} {
		dir := t.TempDir()
		kustomization := "resources: [config/default]\ncomponents: [config/" + name + "]\n"
		if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path(t, "config"), filepath.Join(dir, "config")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Kubectl(t, "create", "namespace", namespace); err != nil && !strings.Contains(err.Error(), "AlreadyExists") {
			t.Fatal(err)
		}
		out, err := s.Kubectl(t, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-k", dir)
		if err != nil || strings.Contains(strings.ToLower(out), "warning") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestWatchedNamespaces: with named namespaces, the manager gets no right on the objects of the cluster, and in each
// namespace those of the ClusterRole.
func TestWatchedNamespaces(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	rendered, err := template(t, "x", namespace, "--values", path(t, "charts", "postflight", "ci", "watch-namespaces-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t, rendered)
	var ofCluster []string
	for name, object := range all {
		if object.GetNamespace() == "" && object.GetKind() != "CustomResourceDefinition" {
			ofCluster = append(ofCluster, name)
		}
	}
	slices.Sort(ofCluster)
	want := []string{"ClusterRole postflight-acme-token-reviews", "ClusterRoleBinding postflight-acme-token-reviews"}
	if diff := cmp.Diff(want, ofCluster); diff != "" {
		t.Errorf("objects of the cluster (-want +got):\n%s", diff)
	}
	reviews := rights(all["ClusterRole postflight-acme-token-reviews"].Object)
	if diff := cmp.Diff([]string{"create subjectaccessreviews", "create tokenreviews"}, reviews); diff != "" {
		t.Errorf("rights in the cluster (-want +got):\n%s", diff)
	}
	whole, err := template(t, release, namespace)
	if err != nil {
		t.Fatal(err)
	}
	inNamespace := slices.DeleteFunc(rights(objects(t, whole)["ClusterRole postflight-manager"].Object), func(right string) bool {
		_, resource, _ := strings.Cut(right, " ")
		return slices.Contains([]string{"namespaces", "subjectaccessreviews", "teams", "teams/status", "tokenreviews", "triggerclasses"}, resource)
	})
	if diff := cmp.Diff(inNamespace, rights(all["Role postflight-acme-manager"].Object)); diff != "" || len(inNamespace) < 20 {
		t.Errorf("rights in a namespace (-want +got):\n%s", diff)
	}
}

// rights are the verbs and resources of a role.
func rights(role map[string]any) []string {
	var all []string
	for _, rule := range role["rules"].([]any) {
		for _, resource := range rule.(map[string]any)["resources"].([]any) {
			for _, verb := range rule.(map[string]any)["verbs"].([]any) {
				all = append(all, verb.(string)+" "+resource.(string))
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestAlertsOfTheChart: the chart has the alerts of config/monitoring, with its own bound on the queue.
func TestAlertsOfTheChart(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	rendered, err := template(t, "x", namespace, "--set", "prometheusRule.enabled=true,prometheusRule.oldestQueuedSeconds=600", "--show-only", "templates/prometheus_rule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := os.ReadFile(path(t, "config", "monitoring", "prometheus_rule.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(shipped), "> 3600\n") != 1 {
		t.Fatal("the chart cannot find the bound on the queue")
	}
	want := objects(t, strings.Replace(string(shipped), "> 3600\n", "> 600\n", 1))["PrometheusRule postflight"]
	got := objects(t, rendered)["PrometheusRule x-postflight"]
	if got == nil {
		t.Fatal(rendered)
	}
	if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
		t.Errorf("(-config +chart):\n%s", diff)
	}
}
