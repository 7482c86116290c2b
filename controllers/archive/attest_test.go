package archive_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/record/attestation"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// signer counts what it signs, and shows it.
type signer struct {
	mu     sync.Mutex
	signed int
}

func (s *signer) Sign(payloadType string, payload []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signed++
	return json.Marshal(map[string]string{"type": payloadType, "payload": base64.StdEncoding.EncodeToString(payload)})
}

func (s *signer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signed
}

func statement(t *testing.T, bundle []byte) attestation.Statement {
	t.Helper()
	var b struct {
		Type    string
		Payload []byte
	}
	if err := json.Unmarshal(bundle, &b); err != nil || b.Type != "application/vnd.in-toto+json" {
		t.Fatalf("%s, %v", bundle, err)
	}
	s, err := attestation.Parse(b.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const sha = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"

func ofCommit(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = sha }

// TestVerdictIsSigned: a run that passed or failed has a signed verdict before its record says that it is archived; others have none.
func TestVerdictIsSigned(t *testing.T) {
	t.Parallel()
	signs := &signer{}
	w := world.WithArchive(t, world.PrintsName, func(w *world.World) { w.Signer = signs })
	w.Start(build.Suite("green", 0, ofCommit))
	w.Passes("green")
	w.ArchivedAs("green", v1alpha1.ReasonSaved, "")
	w.Start(build.Suite("red", 1, ofCommit))
	w.Exits("red", 1)
	w.ArchivedAs("red", v1alpha1.ReasonSaved, "")
	w.Create(build.Trigger("one", build.AtMost(1)))
	w.Start(build.Suite("first", 2, build.OfTrigger("one")))
	w.Create(build.Suite("stopped", 3, build.OfTrigger("one"), ofCommit))
	w.Cancel("stopped", "ada")
	w.ArchivedAs("stopped", v1alpha1.ReasonSaved, "")
	for name, want := range map[string]string{"green": attestation.Passed, "red": attestation.Failed} {
		bundles := w.Archive.Bundles(name)
		if len(bundles) != 1 {
			t.Fatalf("%s: %d bundles", name, len(bundles))
		}
		s := statement(t, bundles[0])
		if s.Predicate.Result != want || !s.About(attestation.GitCommit, sha) || s.Details().Team != w.NS || s.Details().Run != name ||
			!strings.HasPrefix(s.Predicate.URL, "https://ci.example.com/runs/") || s.Details().EndedAt.IsZero() {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if n := signs.count(); n != 2 {
		t.Errorf("%d verdicts were signed", n)
	}
}

// TestVerdictIsSignedOnce: a manager that crashed between the two writes signs no second verdict.
func TestVerdictIsSignedOnce(t *testing.T) {
	t.Parallel()
	signs := &signer{}
	w := world.WithArchive(t, world.PrintsName, func(w *world.World) { w.Signer = signs })
	w.Start(build.Suite("run", 0, ofCommit))
	run := record.Of(w.NS, w.Suite("run"))
	w.Must(w.Archive.SaveAttestation(t.Context(), run, []byte("signed before")))
	w.Passes("run")
	w.ArchivedAs("run", v1alpha1.ReasonSaved, "")
	if bundles := w.Archive.Bundles("run"); len(bundles) != 1 || string(bundles[0]) != "signed before" || signs.count() != 0 {
		t.Errorf("%q, signed %d times", bundles, signs.count())
	}
}
