package main

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	archivecontroller "github.com/postflight-dev/postflight/controllers/archive"
	"github.com/postflight-dev/postflight/internal/signing"
)

// attestationOptions are the flags of signed verdicts.
type attestationOptions struct {
	keyFiles []string
	keys     *signing.Keys // of these files; nil: verdicts are not signed
}

func (o *attestationOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.keyFiles, "attestation-key-file", nil,
		"PEM of a key, ECDSA P-256 or Ed25519 in PKCS #8, that signs the verdicts of runs; may be given several times: the first key signs, "+
			"and the public keys of all are published; read again when they change")
}

// validate also reads the files, so that a wrong one fails at once.
func (o *attestationOptions) validate(store storeOptions) (err error) {
	if len(o.keyFiles) > 0 && !store.configured() {
		return errors.New("--attestation-key-file: signed verdicts are kept in the object store; set --store-bucket and --store-endpoint, too")
	}
	if o.keys, err = signing.Load(o.keyFiles); err != nil {
		return fmt.Errorf("--attestation-key-file: %w", err)
	}
	return nil
}

// setupAttestations follows the files of the keys.
func setupAttestations(mgr ctrl.Manager, o attestationOptions, metrics prometheus.Registerer) error {
	if o.keys == nil {
		return nil
	}
	o.keys.Log = ctrl.Log.WithName("attestation")
	return errors.Join(mgr.Add(o.keys), o.keys.Register(metrics))
}

// signer is nil without keys.
func (o *attestationOptions) signer() archivecontroller.Signer {
	if o.keys == nil {
		return nil
	}
	return o.keys
}
