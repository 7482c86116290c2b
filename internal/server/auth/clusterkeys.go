package auth

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/postflight-dev/postflight/internal/server/auth/keyset"
)

const (
	// keysEvery is the least pause between requests for the keys. A key changes only when the API server restarts, and pods retry.
	keysEvery   = 10 * time.Second
	keysTimeout = 5 * time.Second // bounds the request
)

var serviceAccountAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512}

type signature int

const (
	unknownSignature signature = iota // the keys cannot be read
	goodSignature
	forgedSignature
	unclearSignature // its key may be newer than the keys that are known
)

// ClusterKeys are the keys with which the API server signs tokens. They expose forged tokens without a request.
type ClusterKeys struct{ keys *keyset.Set }

// NewClusterKeys takes what reads the API server's keys as a JSON Web Key Set; nil if there is none. A key works for ever, since the API
// server is asked about each token that one has signed. A token waits for the request that it has caused, and for no other one.
func NewClusterKeys(read func(context.Context) ([]byte, error), c clock.PassiveClock, log logr.Logger) *ClusterKeys {
	return &ClusterKeys{keys: keyset.New(keyset.Config{
		Read: func(ctx context.Context) ([]jose.JSONWebKey, error) {
			content, err := read(ctx)
			if err != nil {
				return nil, err
			}
			return parseClusterKeys(content)
		},
		Clock: c, Every: keysEvery, Timeout: keysTimeout, Log: log.WithValues("issuer", "the API server"),
	})}
}

// parseClusterKeys leaves none out, as package issuer does: which keys may sign tokens of the cluster is up to the API server.
func parseClusterKeys(content []byte) ([]jose.JSONWebKey, error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(content, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) == 0 {
		return nil, errors.New("it has no keys")
	}
	return set.Keys, nil
}

func (k *ClusterKeys) check(ctx context.Context, token string) signature {
	if k == nil {
		return unknownSignature
	}
	parsed, err := jose.ParseSignedCompact(token, serviceAccountAlgorithms)
	if err != nil {
		return forgedSignature
	}
	keys, err := k.keys.Find(ctx, parsed.Signatures[0].Header.KeyID)
	switch {
	case errors.Is(err, keyset.ErrUnclear):
		return unclearSignature
	case err != nil && !errors.Is(err, keyset.ErrUnknown):
		return unknownSignature
	}
	for _, key := range keys {
		if _, err := parsed.Verify(key); err == nil {
			return goodSignature
		}
	}
	return forgedSignature
}
