package peers

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record/attestation"
	"github.com/postflight-dev/postflight/internal/signing"
)

type object = map[string]any

// signer signs verdicts with the code of the manager.
type signer struct {
	keys   *signing.Keys
	public []byte // PEM
}

func newSigner(t *testing.T) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	file := write(t, t.TempDir(), "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	keys, err := signing.Load([]string{file})
	must(t, err)
	return signer{keys, keys.PublicPEM()}
}

// verdict is what a test changes of a signed verdict about an image that passed the Trigger e2e in staging.
type verdict struct {
	result, trigger, environment string
	team                         string
	age, longer                  time.Duration // since the end of the run; how much longer it took than others
	attempt                      int32
	digest                       string // of the image, in hex
}

// statement is that of the Suite, as the manager makes it.
func (v verdict) statement() attestation.Statement {
	ended := time.Now().Add(-v.age)
	end, results := v1alpha1.Passed(""), v1alpha1.TestResults{Tests: 2, Passed: 2}
	switch v.result {
	case attestation.Failed:
		end, results = v1alpha1.Failed(""), v1alpha1.TestResults{Tests: 2, Passed: 1, Failed: 1}
	case attestation.Warned:
		results = v1alpha1.TestResults{Tests: 2, Passed: 1, Failed: 1}
	}
	image := &v1alpha1.WorkloadVersion{
		UID: "1", SHA: commit, RolledOut: true, Digests: []v1alpha1.ImageDigest{{Container: "shop", Digest: "sha256:" + v.digest}},
	}
	return attestation.New(cmp.Or(v.team, "shop"), &v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e2e-1", CreationTimestamp: metav1.NewTime(ended.Add(-5*time.Minute - v.longer))},
		Spec: v1alpha1.SuiteSpec{
			Trigger:     v1alpha1.TriggerReference{Name: cmp.Or(v.trigger, "e2e")},
			Environment: cmp.Or(v.environment, "staging"), Attempt: v.attempt, Origin: v1alpha1.OriginNotification,
			Deployment: v1alpha1.Deployment{Repository: "acme/shop", SHA: commit},
		},
		Status: v1alpha1.SuiteStatus{
			StartTime: new(metav1.NewTime(ended.Add(-4*time.Minute - v.longer))), CompletionTime: new(metav1.NewTime(ended)),
			DecidedBy: v1alpha1.DecidedByTests, Results: &results, Conditions: []metav1.Condition{end},
			UnderTest: &v1alpha1.UnderTest{Workloads: []v1alpha1.TestedWorkload{
				{Repository: "acme/shop", Kind: "Deployment", Namespace: "shop", Name: "shop", Start: image, End: image},
			}},
		},
	}, "https://postflight.example.com/runs/e2e-1", nil)
}

// bundle signs a Statement.
func (s signer) bundle(t *testing.T, statement attestation.Statement) []byte {
	t.Helper()
	payload, err := statement.Encode()
	must(t, err)
	bundle, err := s.keys.Sign(attestation.PayloadType, payload)
	must(t, err)
	return bundle
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	must(t, err)
	return text
}
