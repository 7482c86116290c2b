package runs

import (
	"context"
	"errors"
	"io/fs"

	"github.com/postflight-dev/postflight/internal/core/record/attestation"
)

// Attestation returns the signed verdict of a run, or a sentence that says why there is none. Signing is whether a key is configured now.
func (r *Reader) Attestation(ctx context.Context, run *Run, signing bool) (bundle []byte, missing string, err error) {
	if missing := attestation.Unsigned(run.Suite); missing != "" {
		return nil, missing, nil
	}
	if r.Archive == nil {
		return nil, attestation.NoStore, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.LookupTimeout)
	defer cancel()
	bundle, err = r.Archive.Attestation(ctx, run.ID)
	switch {
	case err == nil:
		return bundle, "", nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, "", archiveError(err)
	case !signing:
		return nil, attestation.NoKey, nil
	case !run.Archived() && !run.Suite.Archived():
		return nil, attestation.NotYet, nil
	default:
		return nil, attestation.NeverSigned, nil
	}
}
