package auth

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"k8s.io/utils/clock"
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
type ClusterKeys struct {
	read  func(context.Context) ([]byte, error) // a JSON Web Key Set; nil if there is none
	clock clock.PassiveClock

	mu    sync.Mutex
	keys  *jose.JSONWebKeySet // nil if they were never read
	asked time.Time
}

// NewClusterKeys takes what reads the API server's keys as a JSON Web Key Set.
func NewClusterKeys(read func(context.Context) ([]byte, error), c clock.PassiveClock) *ClusterKeys {
	return &ClusterKeys{read: read, clock: c}
}

// check never waits for the request of another token.
func (k *ClusterKeys) check(ctx context.Context, token string) signature {
	if k == nil {
		return unknownSignature
	}
	parsed, err := jose.ParseSignedCompact(token, serviceAccountAlgorithms)
	if err != nil {
		return forgedSignature
	}
	keys, mayAsk := k.known(parsed)
	current := false // whether the keys are all that there are now
	if mayAsk {
		keys, current = k.refresh(ctx)
	}
	switch {
	case keys == nil:
		return unknownSignature
	case verifies(parsed, keys):
		return goodSignature
	case !current && !hasKeyOf(parsed, keys):
		return unclearSignature
	default:
		return forgedSignature
	}
}

// known also reports whether to fetch newer keys, which one caller at a time does.
func (k *ClusterKeys) known(token *jose.JSONWebSignature) (keys *jose.JSONWebKeySet, mayAsk bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys != nil && hasKeyOf(token, k.keys) || !k.asked.IsZero() && k.clock.Since(k.asked) < keysEvery {
		return k.keys, false
	}
	k.asked = k.clock.Now()
	return k.keys, true
}

// refresh keeps the known keys if others cannot be read, and then returns false.
func (k *ClusterKeys) refresh(ctx context.Context) (keys *jose.JSONWebKeySet, current bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTimeout)
	defer cancel()
	fresh := &jose.JSONWebKeySet{}
	content, err := k.read(ctx)
	if err == nil {
		err = json.Unmarshal(content, fresh)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil && len(fresh.Keys) > 0 {
		k.keys, current = fresh, true
	}
	return k.keys, current
}

func hasKeyOf(token *jose.JSONWebSignature, keys *jose.JSONWebKeySet) bool {
	return len(keys.Key(token.Signatures[0].Header.KeyID)) > 0
}

func verifies(token *jose.JSONWebSignature, keys *jose.JSONWebKeySet) bool {
	for _, key := range keys.Key(token.Signatures[0].Header.KeyID) {
		if _, err := token.Verify(key); err == nil {
			return true
		}
	}
	return false
}
