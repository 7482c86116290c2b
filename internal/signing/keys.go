package signing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/postflight-dev/postflight/internal/signing/bundle"
)

// pollEvery is how often the files are read. Rotated keys overlap for longer than that.
const pollEvery = 5 * time.Second

// Keys are the keys of some files. The first signs. All are published, so that older signatures can be verified.
type Keys struct {
	Log logr.Logger

	files   []string
	current atomic.Pointer[[]key]
	problem atomic.Pointer[string] // with the files as they are now; nil: none
}

// Load reads the files. Without any, it returns nil.
func Load(files []string) (*Keys, error) {
	if len(files) == 0 {
		return nil, nil
	}
	if len(files) > maxKeys {
		return nil, fmt.Errorf("%d files: at most %d keys are used. Leave out those whose signatures nothing verifies any more", len(files),
			maxKeys)
	}
	k := &Keys{files: slices.Clone(files)}
	_, err := k.reload()
	return k, err
}

func (k *Keys) reload() (changed bool, err error) {
	var all []key
	for i, file := range k.files {
		loaded, err := readKey(file)
		if err == nil && i == 0 && loaded.private == nil {
			err = fmt.Errorf("%s has a public key, and the first key has to sign. %s", file, generate)
		}
		if err != nil {
			return false, err
		}
		known := slices.ContainsFunc(all, func(other key) bool { return bytes.Equal(other.public, loaded.public) })
		if !known {
			all = append(all, loaded)
		}
	}
	before := k.current.Swap(&all)
	changed = before != nil && !slices.EqualFunc(*before, all, func(a, b key) bool { return bytes.Equal(a.public, b.public) })
	return changed, nil
}

// NeedLeaderElection is false: every replica publishes the keys.
func (k *Keys) NeedLeaderElection() bool { return false }

// Start follows the files until the context ends. Unusable ones change nothing.
func (k *Keys) Start(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			k.follow()
		}
	}
}

func (k *Keys) follow() {
	changed, err := k.reload()
	var problem *string
	if err != nil {
		text := err.Error()
		problem = &text
	}
	before := k.problem.Swap(problem)
	switch {
	case err != nil && (before == nil || *before != *problem):
		k.Log.Error(err, "the keys that sign verdicts cannot be read; those that were read before still count")
	case changed:
		k.Log.Info("the keys that sign verdicts have changed", "signing", bundle.Hint((*k.current.Load())[0].public))
	}
}

// Register adds a metric, by which operators notice unusable files.
func (k *Keys) Register(metrics prometheus.Registerer) error {
	return metrics.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "postflight_attestation_keys_valid",
		Help: "Whether the manager could use the files of --attestation-key-file when it last read them; 0: the keys before still count.",
	}, func() float64 {
		if k.problem.Load() != nil {
			return 0
		}
		return 1
	}))
}

// PublicPEM returns all public keys, first the key that signs. Without keys, it returns nothing.
func (k *Keys) PublicPEM() []byte {
	if k == nil {
		return nil
	}
	var all []byte
	for _, key := range *k.current.Load() {
		all = append(all, key.pem()...)
	}
	return all
}

// Sign returns a Sigstore bundle, as JSON, with a signed payload.
func (k *Keys) Sign(payloadType string, payload []byte) ([]byte, error) {
	if k == nil {
		return nil, errors.New("there is no key to sign with")
	}
	first := (*k.current.Load())[0]
	signature, err := first.sign(dsse.PAE(payloadType, payload))
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return bundle.Encode(payloadType, payload, signature, bundle.Hint(first.public))
}
