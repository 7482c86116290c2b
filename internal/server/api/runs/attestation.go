package runs

import (
	"net/http"

	"github.com/postflight-dev/postflight/internal/core/record/attestation"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
)

// GetAttestation returns the signed verdict of a run.
func (a *API) GetAttestation(w http.ResponseWriter, r *exchange.Request) error {
	run, err := a.findRun(r)
	if err != nil {
		return err
	}
	if !r.Acquire(a.Archive) { // each may hold some MiB until they are sent
		return exchange.Overloaded("The server is reading the archive for as many requests as it can, or for as many of this team as leave " +
			"room for other teams. Send the request again in a few seconds.")
	}
	bundle, missing, err := a.Runs.Attestation(r.Context(), run, len(a.AttestationKeys()) > 0)
	if err != nil {
		return lookupFailure(err)
	}
	r.AddToAudit("suite", run.ID.ID, "state", run.Suite.State())
	switch missing {
	case "":
	case attestation.NotYet:
		return &exchange.Failure{Code: "attestation_pending", Message: missing}
	default:
		return &exchange.Failure{Code: "attestation_not_found", Message: missing}
	}
	w.Header().Set("Content-Type", attestation.BundleType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(bundle) // the client may be gone
	return nil
}

// GetAttestationKeys returns the public keys of signed verdicts. They are no secret, so that a cluster that verifies needs no key of ours.
func (a *API) GetAttestationKeys(w http.ResponseWriter, _ *exchange.Request) error {
	keys := a.AttestationKeys()
	if len(keys) == 0 {
		return &exchange.Failure{Code: "not_found", Message: attestation.NoKey}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(keys)
	return nil
}
