package integrations

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type fluxSource struct {
	APIVersion, Kind string
	Metadata         struct{ Name, Namespace string }
	Spec             struct {
		Interval, URL string
		Ref           struct{ Tag string }
		LayerSelector struct{ MediaType, Operation string }
		Verify        struct {
			Provider          string
			MatchOIDCIdentity []struct{ Issuer, Subject string }
		}
	}
}

type fluxRelease struct {
	APIVersion, Kind string
	Metadata         struct{ Name, Namespace string }
	Spec             struct {
		Interval, ReleaseName, TargetNamespace string
		ChartRef                               struct{ Kind, Name string }
		Values                                 map[string]any
	}
}

// TestFluxInstall: Flux takes the chart from where the workflow of a release pushes it, and trusts that workflow alone.
// That the chart accepts the values is tested in test/chart.
func TestFluxInstall(t *testing.T) {
	content := read(t, "flux/install.yaml")
	documents := bytes.Split(content, []byte("\n---\n"))
	if len(documents) != 3 {
		t.Fatalf("%d documents, want a Namespace, a source and a release", len(documents))
	}
	var source fluxSource
	var release fluxRelease
	if err := yaml.UnmarshalStrict(documents[1], &source); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(documents[2], &release); err != nil {
		t.Fatal(err)
	}
	if ref := release.Spec.ChartRef; ref.Kind != source.Kind || ref.Name != source.Metadata.Name || release.Metadata.Namespace != source.Metadata.Namespace {
		t.Errorf("the release is of %+v, and the source is %+v", ref, source.Metadata)
	}
	page := string(read(t, "../docs/operations/release.md"))
	if want := "at `" + source.Spec.URL + "`"; !strings.Contains(page, want) {
		t.Errorf("docs/operations/release.md does not have the chart %s", want)
	}
	identity := source.Spec.Verify.MatchOIDCIdentity
	if len(identity) != 1 {
		t.Fatalf("%d identities may sign, want one", len(identity))
	}
	signer := regexp.MustCompile(`(?m)^IDENTITY=(.*)\$VERSION\nISSUER=(.*)$`).FindStringSubmatch(page)
	if signer == nil {
		t.Fatal("docs/operations/release.md does not say who signs")
	}
	for subject, trusted := range map[string]bool{
		signer[1] + "v0.1.0": true, strings.Replace(signer[1], "refs/tags/", "refs/heads/", 1) + "v0.1.0": false, signer[1][1:] + "v0.1.0": false,
		strings.Replace(signer[1], "release.yml", "ci.yml", 1) + "v0.1.0": false, "https://example.com/" + signer[1] + "v0.1.0": false,
	} {
		if got := regexp.MustCompile(identity[0].Subject).MatchString(subject); got != trusted {
			t.Errorf("%s is trusted: %t, want %t", subject, got, trusted)
		}
	}
	if !regexp.MustCompile(identity[0].Issuer).MatchString(signer[2]) {
		t.Errorf("%s does not match the issuer %s", identity[0].Issuer, signer[2])
	}
	if shown := string(uncommented(content)); !strings.Contains(string(read(t, "../docs/install/flux.md")), strings.TrimSpace(shown)) {
		t.Error("docs/install/flux.md shows something else")
	}
}
