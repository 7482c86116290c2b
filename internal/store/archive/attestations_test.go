package archive_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/record/attestation"
)

// attestations: a signed verdict comes back byte for byte, and belongs to one run.
func attestations(t *testing.T, w world) {
	r := runAt("acme", "attested", noon)
	if _, err := w.Attestation(t.Context(), r); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none is stored: %v", err)
	}
	must(t, w.SaveAttestation(t.Context(), r, []byte(`{"signed":true}`)))
	if got, err := w.Attestation(t.Context(), r); err != nil || string(got) != `{"signed":true}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := w.Attestation(t.Context(), runAt("acme", "attested", noon.Add(1e9))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another run of the name: %v", err)
	}
	if _, err := w.Attestation(t.Context(), runAt("acme", "../attested", noon)); err == nil {
		t.Error("an id that is no name is read")
	}
	w.put(t, map[string][]byte{r.AttestationKey(): []byte(strings.Repeat("x", attestation.MaxBundle+1))})
	if _, err := w.Attestation(t.Context(), r); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a huge one: %v", err)
	}
}
