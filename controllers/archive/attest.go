package archive

import (
	"context"
	"errors"
	"io/fs"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/record/attestation"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/tests/history"
)

// Signer signs verdicts.
type Signer interface {
	// Sign returns a Sigstore bundle with the payload.
	Sign(payloadType string, payload []byte) (bundle []byte, err error)
}

// attest signs the verdict of a run, if it has one. A verdict is signed once: after a crash or with another key, what was signed stays.
func (r *Reconciler) attest(ctx context.Context, s *v1alpha1.Suite, run record.Run) error {
	if r.Signer == nil || attestation.Unsigned(s) != "" {
		return nil
	}
	if _, err := r.Store.Attestation(ctx, run); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tests, err := r.tests(ctx, s, run)
	if err != nil {
		return err
	}
	url := ""
	if r.PublicURL != "" {
		url = suite.PageURL(r.PublicURL, s.Namespace, s.Name)
	}
	payload, err := attestation.New(run.Team, s, url, tests).Encode()
	if err != nil {
		return err
	}
	bundle, err := r.Signer.Sign(attestation.PayloadType, payload)
	if err != nil {
		return err
	}
	return r.Store.SaveAttestation(ctx, run, bundle)
}

// tests of a run; nil if only its status has some.
func (r *Reconciler) tests(ctx context.Context, s *v1alpha1.Suite, run record.Run) (*attestation.Tests, error) {
	if s.Status.Results == nil {
		return nil, nil
	}
	tests := &attestation.Tests{}
	switch _, err := r.Store.Tests(ctx, run, tests.Add); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, history.ErrUnreadable):
		return nil, nil
	default:
		return tests, err
	}
}
