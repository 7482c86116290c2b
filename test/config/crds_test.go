package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// maxCRD leaves room in the annotation of a client-side apply, which has at most 256 KiB together with all others of
// the object.
const maxCRD = 200_000

// TestSizeOfCRDs: kubectl apply and Argo CD need no option for the CRDs.
func TestSizeOfCRDs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(folder(t, "crd"), "bases", "*.yaml"))
	if err != nil || len(files) != 6 {
		t.Fatalf("%d CRDs: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(crd) > maxCRD {
			t.Errorf("%s has %d bytes as JSON, more than %d", filepath.Base(file), len(crd), maxCRD)
		}
	}
}

// TestExplainOfJobTemplate: its own description stays, those of the Job's fields are Kubernetes'.
func TestExplainOfJobTemplate(t *testing.T) {
	s := apiserver.New(t)
	out, err := s.Kubectl(t, "explain", "trigger.spec.jobTemplate")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "backoffLimit defaults to 0") || !strings.Contains(out, "kubectl explain job") {
		t.Errorf("kubectl explain trigger.spec.jobTemplate prints:\n%s", out)
	}
}
