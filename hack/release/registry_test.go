package main

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/postflight-dev/postflight/hack/dev/image"
)

// checkRegistry pushes the release to a registry, and verifies what others get from there.
func checkRegistry(t *testing.T, r release, built built, referrers bool) {
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(referrers), registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	tag := strings.TrimPrefix(server.URL, "http://") + "/team/postflight:" + r.Version
	digest, err := push(r.Output, tag)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSuffix(tag, ":"+r.Version) + "@" + built.Image; digest != want {
		t.Fatalf("pushed %s, want %s", digest, want)
	}
	reference, err := name.NewDigest(digest)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var architectures []string
	for _, platform := range manifest.Manifests {
		architectures = append(architectures, platform.Platform.Architecture)
		pulled, err := index.Image(platform.Digest)
		if err != nil {
			t.Fatal(err)
		}
		programs := checkLayers(t, r, pulled, platform.Platform.Architecture)
		checkSBOM(t, referrer1(t, reference, platform.Digest, string(spdxType)), platform.Digest, programs)
	}
	if diff := cmp.Diff(r.Architectures, architectures); diff != "" {
		t.Errorf("architectures (-want +got):\n%s", diff)
	}
	checkProvenance(t, r, built, referrer1(t, reference, manifestDigest(t, index), string(inTotoType)))
}

func manifestDigest(t *testing.T, index v1.ImageIndex) v1.Hash {
	t.Helper()
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// referrer1 is the content of the only referrer of a kind that a registry has for a manifest.
func referrer1(t *testing.T, repository name.Digest, subject v1.Hash, kind string) []byte {
	t.Helper()
	index, err := remote.Referrers(repository.Digest(subject.String()), remote.WithFilter("artifactType", kind))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%d referrers of %s are of the type %s, want 1", len(manifest.Manifests), subject, kind)
	}
	artifact, err := remote.Image(repository.Digest(manifest.Manifests[0].Digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := artifact.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	text, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// checkLayers: each program has a layer of its own, the layer that every node pulls is small, and programs of this
// platform know their version. It returns the hashes of the programs.
func checkLayers(t *testing.T, r release, pulled v1.Image, architecture string) map[string]string {
	layers, err := pulled.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != len(image.Programs)+1 {
		t.Fatalf("the image has %d layers", len(layers))
	}
	sums := map[string]string{}
	for i, program := range image.Programs {
		size, err := layers[i+1].Size()
		if err != nil {
			t.Fatal(err)
		}
		if program == "collect" && mib(size) > 8 {
			t.Errorf("the layer of %s has %.1f MiB, more than 8", program, mib(size))
		}
		content, err := layers[i+1].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		files := tarFiles(t, content)
		path := filepath.Join(t.TempDir(), program)
		if err := os.WriteFile(path, files[program], 0o755); err != nil || len(files) != 1 {
			t.Fatalf("the layer of %s has %d files (%v)", program, len(files), err)
		}
		if sums[program], err = sha256File(path); err != nil {
			t.Fatal(err)
		}
		if program == "manager" && runtime.GOOS == "linux" && architecture == runtime.GOARCH {
			if got := runProgram(t, path, "--version"); !strings.Contains(got, r.Version) || !strings.Contains(got, r.Source.Commit[:12]) {
				t.Errorf("the manager says %q", got)
			}
		}
	}
	config, err := pulled.ConfigFile()
	if err != nil || config.Architecture != architecture || config.Config.Labels["org.opencontainers.image.version"] != r.Version ||
		config.Config.User != image.User || config.Config.Entrypoint[0] != "/manager" {
		t.Errorf("the configuration is %+v (%v)", config, err)
	}
	return sums
}

// checkSBOM: the bill of materials is about this image, and has its programs and what they are built from.
func checkSBOM(t *testing.T, text []byte, digest v1.Hash, programs map[string]string) {
	document, err := spdxjson.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	packages, ids := map[string]*spdx.Package{}, map[string]bool{}
	for _, p := range document.Packages {
		if ids[string(p.PackageSPDXIdentifier)] {
			t.Errorf("%s is there twice", p.PackageSPDXIdentifier)
		}
		packages[p.PackageName], ids[string(p.PackageSPDXIdentifier)] = p, true
	}
	for _, relationship := range document.Relationships {
		if id := string(relationship.RefB.ElementRefID); !ids[id] {
			t.Errorf("a relationship names %s, which does not exist", id)
		}
	}
	for name, sum := range programs {
		if p := packages[name]; p == nil || p.PackageChecksums[0].Value != sum {
			t.Errorf("the bill of materials does not have %s with the hash %s", name, sum)
		}
	}
	if root := document.Packages[0]; root.PackageChecksums[0].Value != digest.Hex {
		t.Errorf("the bill of materials is about %s", root.PackageChecksums[0].Value)
	}
	for name, locator := range map[string]string{
		"stdlib":            "pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go"),
		"k8s.io/client-go":  "pkg:golang/k8s.io/client-go@v",
		"golang.org/x/sync": "pkg:golang/golang.org/x/sync@v",
	} {
		p := packages[name]
		if p == nil || !strings.HasPrefix(p.PackageExternalReferences[0].Locator, locator) {
			t.Errorf("the bill of materials does not have %s as %s", name, locator)
		}
	}
}

// checkProvenance: it names the commit, and every other file with its hash.
func checkProvenance(t *testing.T, r release, built built, text []byte) {
	s := &intoto.Statement{}
	if err := errors.Join(protojson.Unmarshal(text, s), s.Validate()); err != nil {
		t.Fatal(err)
	}
	predicate, err := protojson.Marshal(s.Predicate)
	if err != nil {
		t.Fatal(err)
	}
	p := &slsa.Provenance{}
	if err := errors.Join(protojson.Unmarshal(predicate, p), p.Validate()); err != nil {
		t.Fatal(err)
	}
	if got := p.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"]; got != r.Source.Commit {
		t.Errorf("the provenance names the commit %q", got)
	}
	if got := s.Subject[0]; got.Name != r.Image || "sha256:"+got.Digest["sha256"] != built.Image {
		t.Errorf("the provenance is about %+v", got)
	}
	named := map[string]string{}
	for _, subject := range s.Subject {
		named[subject.Name] = subject.Digest["sha256"]
	}
	for line := range strings.Lines(readText(t, r.path(checksumsName))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if name == provenanceName || strings.HasPrefix(name, imageFolder) {
			continue
		}
		if named[name] != sum {
			t.Errorf("the provenance says that %s has the hash %q", name, named[name])
		}
	}
}
