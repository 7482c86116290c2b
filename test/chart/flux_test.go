package chart

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/test/tier"
)

// TestFluxValues: the chart accepts the values of each HelmRelease that the pages and the samples show.
func TestFluxValues(t *testing.T) {
	tier.All(t, "the gate builds no helm")
	for file, want := range map[string]int{"docs/install/flux.md": 2, "integrations/flux/install.yaml": 1} {
		text, err := os.ReadFile(path(t, file))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for document := range bytes.SplitSeq(regexp.MustCompile("(?m)^```.*$").ReplaceAll(text, []byte("---")), []byte("\n---\n")) {
			if !bytes.Contains(document, []byte("kind: HelmRelease")) {
				continue
			}
			found++
			var release struct {
				Spec struct{ Values map[string]any }
			}
			if err := yaml.Unmarshal(document, &release); err != nil {
				t.Fatal(err)
			}
			values, err := yaml.Marshal(release.Spec.Values)
			if err != nil {
				t.Fatal(err)
			}
			given := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(given, values, 0o600); err != nil {
				t.Fatal(err)
			}
			rendered, err := template(t, "postflight", namespace, "--values", given)
			if err != nil || !strings.Contains(rendered, "https://postflight.example.com") {
				t.Errorf("%s: %v\n%s", file, err, values)
			}
		}
		if found != want {
			t.Errorf("%s: %d HelmReleases, want %d", file, found, want)
		}
	}
}
