// Package config tests the manifests in config and integrations, and those of pages, mostly on a real API server: that it takes them, and
// what they allow.
package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/tier"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }

func folder(t *testing.T, name string) string {
	t.Helper()
	root, err := apiserver.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "config", name)
}

// read reads a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder(t, ".."), filepath.FromSlash(path)))
	must(t, err)
	return string(content)
}

// installed is an API server that config/default and the samples were applied to.
func installed(t *testing.T) *apiserver.Server {
	t.Helper()
	s := apiserver.Alone(t)
	install.Do(func() {
		for _, name := range []string{"default", "samples"} { // in this order, so that the policy applies to the samples
			if install.err == nil {
				_, install.err = s.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-k", folder(t, name))
			}
		}
	})
	must(t, install.err)
	return s
}

var install struct {
	sync.Once
	err error
}

// TestApply applies the manifests as documented, with strict validation, and then again, as Git-driven tools do all
// day. Applying again must change nothing. It may once if no manager runs, because the next write stores the defaults
// of the status.
func TestApply(t *testing.T) {
	tier.All(t, "every manifest is applied eight times; TestPolicy and others apply each once")
	s := apiserver.Alone(t)
	for _, name := range []string{"default", "samples"} { // in this order, so that the policy applies to the samples
		for how, flags := range map[string][]string{"client side": nil, "server side": {"--server-side", "--force-conflicts"}} {
			t.Run(name+", "+how, func(t *testing.T) {
				applyTwice(t, s, folder(t, name), flags)
			})
		}
	}
}

func applyTwice(t *testing.T, s *apiserver.Server, folder string, flags []string) {
	apply := func() string {
		out, err := s.Kubectl(t, append([]string{"apply", "--validate=strict", "-k", folder}, flags...)...)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out) {
			// The test server has the CRDs already, from elsewhere.
			if strings.Contains(strings.ToLower(line), "warning") && !strings.Contains(line, "last-applied-configuration annotation") {
				t.Errorf("the API server warns: %s", line)
			}
		}
		return out
	}
	apply()
	applied := apply()
	before := versions(t, s, folder)
	if again := apply(); again != applied {
		t.Errorf("applied again:\n%s\nbefore:\n%s", again, applied)
	}
	if diff := cmp.Diff(before, versions(t, s, folder)); diff != "" {
		t.Errorf("applied again, it changed (-before +after):\n%s", diff)
	}
}

// versions of the objects that a kustomization names.
func versions(t *testing.T, s *apiserver.Server, folder string) string {
	t.Helper()
	out, err := s.Kubectl(t, "get", "-k", folder,
		"-o", "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSamplesThatAreNotApplied with the others are valid, too.
func TestSamplesThatAreNotApplied(t *testing.T) {
	s := installed(t)
	for _, name := range []string{"suite.yaml", "monorepo.yaml"} {
		if _, err := s.Kubectl(t, "create", "--validate=strict", "--dry-run=server", "-f",
			filepath.Join(folder(t, "samples"), name)); err != nil {
			t.Error(err)
		}
	}
}

// TestKustomizationsAreComplete: errors in a file that is never applied would go unnoticed.
func TestKustomizationsAreComplete(t *testing.T) {
	excluded := map[string]string{
		"samples/suite.yaml":    "applying it starts a run",
		"samples/monorepo.yaml": "its workloads are not in the development cluster",
	}
	for _, name := range []string{"crd", "default", "manager", "policy", "rbac", "samples"} {
		t.Run(name, func(t *testing.T) {
			named := resources(t, folder(t, name))
			for _, file := range manifests(t, folder(t, name)) {
				why := excluded[name+"/"+file]
				if slices.Contains(named, file) == (why != "") {
					t.Errorf("%s/%s: in the kustomization: %t; excluded: %q", name, file, why == "", why)
				}
			}
		})
	}
}

func resources(t *testing.T, folder string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k struct {
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	return k.Resources
}

func manifests(t *testing.T, folder string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") || d.Name() == "kustomization.yaml" {
			return err
		}
		file, err := filepath.Rel(folder, path)
		files = append(files, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestExplain: every field of our own is documented where kubectl explain looks. The gate looks at two.
func TestExplain(t *testing.T) {
	s := apiserver.New(t)
	undocumented := regexp.MustCompile(`(?m)^  \S.*\n    <no description>`)
	resources := []string{
		"triggers.spec", "suites.status", "teams.spec", "apikeys.spec", "environments.spec", "environments.spec.ephemeral", "triggers.spec.match",
		"triggers.spec.inputs", "triggers.spec.repository", "triggers.spec.retention", "suites.spec", "suites.spec.deployment",
	}
	if tier.Gate() {
		resources = resources[:2]
	}
	for _, resource := range resources {
		out, err := s.Kubectl(t, "explain", resource)
		if err != nil {
			t.Fatal(err)
		}
		if missing := undocumented.FindAllString(out, -1); missing != nil {
			t.Errorf("%s has undocumented fields:\n%s", resource, strings.Join(missing, "\n"))
		}
	}
}

// get reads an object of the manager's namespace once config/default was applied.
func get(t *testing.T, s *apiserver.Server, name string, into client.Object) {
	t.Helper()
	must(t, s.Client.Get(t.Context(), client.ObjectKey{Namespace: "postflight-system", Name: name}, into))
}

// TestWhatIsOpen: everybody can reach the API, only labeled namespaces the metrics, and nothing else is open. Each
// Service has one port.
func TestWhatIsOpen(t *testing.T) {
	s := installed(t)
	var deployment appsv1.Deployment
	get(t, s, "postflight-manager", &deployment)
	var policy networkingv1.NetworkPolicy
	get(t, s, "postflight-manager", &policy)
	if diff := cmp.Diff(deployment.Spec.Selector.MatchLabels, policy.Spec.PodSelector.MatchLabels); diff != "" {
		t.Errorf("the policy is for other pods than the manager's:\n%s", diff)
	}
	if !slices.Equal(policy.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
		t.Errorf("policy types %v, want Ingress", policy.Spec.PolicyTypes)
	}
	open := map[string]int{} // by port: how many rules, and how many limit the source
	for _, rule := range policy.Spec.Ingress {
		for _, port := range rule.Ports {
			open[port.Port.String()] += 1 + 10*len(rule.From)
		}
	}
	if diff := cmp.Diff(map[string]int{"http": 1, "metrics": 11}, open); diff != "" {
		t.Errorf("open ports (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"postflight": "http", "postflight-metrics": "metrics"} {
		var service corev1.Service
		get(t, s, name, &service)
		if ports := service.Spec.Ports; len(ports) != 1 || ports[0].TargetPort.String() != want {
			t.Errorf("Service %s has ports %v, want %s alone", name, ports, want)
		}
		if diff := cmp.Diff(deployment.Spec.Selector.MatchLabels, service.Spec.Selector); diff != "" {
			t.Errorf("Service %s selects other pods:\n%s", name, diff)
		}
	}
}

// TestContainerMemory: the floods are tested in this memory.
func TestContainerMemory(t *testing.T) {
	s := installed(t)
	var deployment appsv1.Deployment
	get(t, s, "postflight-manager", &deployment)
	manager := deployment.Spec.Template.Spec.Containers[0]
	if got := manager.Resources.Limits.Memory().String(); got != "256Mi" {
		t.Errorf("the limit is %s, and test/replicas floods a manager of 256Mi", got)
	}
}
