package archive

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/record/attestation"
)

// SaveAttestation stores the signed verdict of a run.
func (a *Archive) SaveAttestation(ctx context.Context, r record.Run, bundle []byte) error {
	return a.Bucket.Put(ctx, r.AttestationKey(), attestation.BundleType, bytes.NewReader(bundle), int64(len(bundle)))
}

// Attestation returns the signed verdict of a run, or fs.ErrNotExist.
func (a *Archive) Attestation(ctx context.Context, r record.Run) ([]byte, error) {
	if !validName(r.ID) {
		return nil, fmt.Errorf("%q names no run", r.ID)
	}
	object, size, err := a.Bucket.Get(ctx, r.AttestationKey())
	if err != nil {
		return nil, err
	}
	defer object.Close()
	if size > attestation.MaxBundle {
		return nil, fmt.Errorf("%w: its attestation has %d bytes, and at most %d are read", errUnreadable, size, attestation.MaxBundle)
	}
	return io.ReadAll(io.LimitReader(object, attestation.MaxBundle))
}
