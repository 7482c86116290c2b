package sigstore

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record/attestation"
	"github.com/postflight-dev/postflight/internal/signing"
)

const commit = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"

// artifact stands for an image: cosign can also hash a file itself.
var artifact = []byte("the manifest of an image")

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// signer has a key, and the file of its public one.
type signer struct {
	*signing.Keys
	key    crypto.Signer
	public string
}

func newSigner(t *testing.T, key crypto.Signer) signer {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := write(t, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	keys, err := signing.Load([]string{private})
	if err != nil {
		t.Fatal(err)
	}
	return signer{keys, key, write(t, keys.PublicPEM())}
}

func signers(t *testing.T) map[string]signer {
	t.Helper()
	p256, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, edwards, err2 := ed25519.GenerateKey(rand.Reader)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return map[string]signer{"ECDSA P-256": newSigner(t, p256), "Ed25519": newSigner(t, edwards)}
}

func write(t *testing.T, content []byte) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// verdict is the bundle of a run that passed with the artifact.
func (s signer) verdict(t *testing.T) []byte {
	t.Helper()
	return s.verdictOf(t, digestOf(artifact))
}

func (s signer) verdictOf(t *testing.T, image string) []byte {
	t.Helper()
	at := metav1.NewTime(time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC))
	version := &v1alpha1.WorkloadVersion{UID: "1", SHA: commit, RolledOut: true,
		Digests: []v1alpha1.ImageDigest{{Container: "app", Digest: "sha256:" + image}}}
	payload, err := attestation.New("acme", &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "smoke-1", CreationTimestamp: at},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: "smoke"}, Environment: "staging",
			Deployment: v1alpha1.Deployment{Repository: "acme/shop", SHA: commit}},
		Status: v1alpha1.SuiteStatus{
			CompletionTime: &at, DecidedBy: v1alpha1.DecidedByTests, Results: &v1alpha1.TestResults{Tests: 3, Passed: 3},
			Conditions: []metav1.Condition{v1alpha1.Passed("")},
			UnderTest: &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{
				{Repository: "acme/shop", Kind: "Deployment", Namespace: "shop", Name: "web", Start: version, End: version}}},
		},
	}, "https://postflight.example.com/runs/shop/smoke-1", nil).Encode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Sign(attestation.PayloadType, payload)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(b, []byte(" "), nil)
}

func changed(content []byte) []byte {
	return bytes.Replace(content, []byte(`"payload":"ey`), []byte(`"payload":"ez`), 1)
}

// verifyWithLibrary has the policy of a controller: the signature, and a subject.
func verifyWithLibrary(content []byte, key crypto.PublicKey, digest string) error {
	b := &bundle.Bundle{}
	if err := b.UnmarshalJSON(content); err != nil {
		return err
	}
	trusted := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
		verifier, err := signature.LoadDefaultVerifier(key)
		return root.NewExpiringKey(verifier, time.Time{}, time.Time{}), err
	})
	verifier, err := verify.NewVerifier(trusted, verify.WithNoObserverTimestamps())
	if err != nil {
		return err
	}
	raw, err := hex.DecodeString(digest)
	if err != nil {
		return err
	}
	_, err = verifier.Verify(b, verify.NewPolicy(verify.WithArtifactDigest("sha256", raw), verify.WithKey()))
	return err
}

// TestLibrary: sigstore-go verifies bundles as we do.
func TestLibrary(t *testing.T) {
	for name, s := range signers(t) {
		t.Run(name, func(t *testing.T) {
			good, other := s.verdict(t), signers(t)[name].key.Public()
			if err := verifyWithLibrary(good, s.key.Public(), digestOf(artifact)); err != nil {
				t.Errorf("%v: %s", err, good)
			}
			for what, err := range map[string]error{
				"a changed byte": verifyWithLibrary(changed(good), s.key.Public(), digestOf(artifact)),
				"another key":    verifyWithLibrary(good, other, digestOf(artifact)),
				"another image":  verifyWithLibrary(good, s.key.Public(), digestOf([]byte("x"))),
			} {
				if err == nil {
					t.Errorf("%s is verified", what)
				}
			}
		})
	}
}

func buildCosign(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "cosign")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/sigstore/cosign/v3/cmd/cosign").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// TestCosign runs the command of docs/attestations.md.
func TestCosign(t *testing.T) {
	cosign := buildCosign(t)
	run := func(key, bundle string, more ...string) (string, error) {
		args := append([]string{"verify-blob-attestation", "--key", key, "--bundle", bundle, "--insecure-ignore-tlog",
			"--type", attestation.PredicateType}, more...)
		command := exec.Command(cosign, args...)
		command.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := command.CombinedOutput()
		return string(out), err
	}
	for name, s := range signers(t) {
		t.Run(name, func(t *testing.T) {
			good, image := s.verdict(t), []string{"--digest", digestOf(artifact), "--digestAlg", "sha256"}
			for what, tc := range map[string]struct {
				key     string
				content []byte
				more    []string
				good    bool
			}{
				"an image":       {s.public, good, image, true},
				"a file":         {s.public, good, []string{write(t, artifact)}, true},
				"no claims":      {s.public, good, []string{"--check-claims=false"}, true},
				"another image":  {s.public, good, []string{"--digest", digestOf([]byte("x")), "--digestAlg", "sha256"}, false},
				"another key":    {signers(t)[name].public, good, image, false},
				"a changed byte": {s.public, changed(good), image, false},
				"another type":   {s.public, good, append([]string{"--type", "slsaprovenance1"}, image...), false},
			} {
				out, err := run(tc.key, write(t, tc.content), tc.more...)
				if (err == nil) != tc.good || tc.good && !strings.Contains(out, "Verified OK") {
					t.Errorf("%s: %v: %s", what, err, out)
				}
			}
		})
	}
}
