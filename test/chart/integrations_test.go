package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/tier"
)

// deliveryCRDs are those of the tools that integrations are for, in the modules that hack/tools/crds pins.
var deliveryCRDs = map[string][]string{
	"github.com/fluxcd/flagger":         {"artifacts/flagger/crd.yaml"},
	"github.com/akuity/kargo":           {"charts/kargo/resources/crds/kargo.akuity.io_stages.yaml"},
	"github.com/argoproj/argo-rollouts": {"manifests/crds/analysis-template-crd.yaml"},
}

// TestRecipesOnAPIServer: an API server with the CRDs of the tools accepts the recipes, and knows every field of them.
func TestRecipesOnAPIServer(t *testing.T) {
	tier.All(t, "it downloads the CRDs of other projects")
	s := apiserver.Alone(t)
	applyCRDs(t, s, deliveryCRDs)
	for _, file := range []string{
		"argo-rollouts/analysis.yaml", "argo-rollouts/verdict.yaml", "flagger/canary.yaml", "flagger/tester.yaml", "kargo/stage.yaml", "kargo/production.yaml",
	} {
		out, err := dryRun(t, s, path(t, "integrations", filepath.FromSlash(file)))
		if err != nil || strings.Contains(strings.ToLower(out), "warning") {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
	text, err := os.ReadFile(path(t, "integrations", "kargo", "stage.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	misspelt := filepath.Join(t.TempDir(), "stage.yaml")
	if err := os.WriteFile(misspelt, []byte(strings.Replace(string(text), "analysisTemplates:", "analysisTemplate:", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dryRun(t, s, misspelt); err == nil {
		t.Error("a misspelt field is no problem to the API server: it does not have the CRD")
	}
}

func dryRun(t *testing.T, s *apiserver.Server, file string) (string, error) {
	t.Helper()
	return s.Kubectl(t, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-n", "default", "-f", file)
}
