package auth

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apikey"
	"github.com/postflight-dev/postflight/internal/auth/bearer"
)

// DefaultMaxStale is how long known keys keep working while the API server is away. Longer, and a
// key that was revoked meanwhile would open the door for too long; shorter, and a restart of the
// control plane would turn pipelines away whose notifications can be held.
const DefaultMaxStale = 10 * time.Minute

// Principal is who makes a request. Both objects belong to the cache: read them, never change them.
type Principal struct {
	Team *v1alpha1.Team
	Key  *v1alpha1.APIKey
}

// Config is what an Authenticator needs.
type Config struct {
	// Reader reads APIKeys and Teams from a cache that has the indexes of SetupIndexes.
	Reader client.Reader

	// Freshness is how long ago the API server was last seen. Nil: the cache is always fresh.
	Freshness func() time.Duration

	// MaxStale bounds Freshness; DefaultMaxStale where it is zero.
	MaxStale time.Duration

	// Used is told of each key that was accepted. It must not block. May be nil.
	Used func(*v1alpha1.APIKey)

	// Now is the clock; time.Now where it is nil.
	Now func() time.Time
}

// Authenticator finds out which team a request belongs to.
type Authenticator struct{ config Config }

// New is an Authenticator with defaults filled in.
func New(c Config) *Authenticator {
	if c.Freshness == nil {
		c.Freshness = func() time.Duration { return 0 }
	}
	if c.MaxStale == 0 {
		c.MaxStale = DefaultMaxStale
	}
	if c.Used == nil {
		c.Used = func(*v1alpha1.APIKey) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Authenticator{config: c}
}

// Authenticate finds the team of the request's bearer key. The error is an *Error.
//
// Every wrong key takes the same steps and ends at the same line, so that neither the answer nor
// the time it takes tells a missing key from an unknown, an expired or a suspended one.
func (a *Authenticator) Authenticate(ctx context.Context, r *http.Request) (Principal, error) {
	if stale := a.config.Freshness(); stale > a.config.MaxStale {
		return Principal{}, unavailable(fmt.Errorf("the API server was last seen %s ago", stale.Round(time.Second)))
	}
	token, wellFormed := bearer.Token(r.Header)
	keys, err := a.keys(ctx, token)
	if err != nil {
		return Principal{}, unavailable(err)
	}
	owners, err := a.owners(ctx, keys)
	if err != nil {
		return Principal{}, unavailable(err)
	}
	key := apikey.Select(token, keys, owners, a.config.Now())
	if !wellFormed || key == nil {
		return Principal{}, ErrUnauthenticated
	}
	team := &owners[key.Namespace][0]
	if team.Spec.Suspended {
		return Principal{}, ErrTeamSuspended
	}
	a.config.Used(key)
	return Principal{Team: team, Key: key}, nil
}

// Digest is how an APIKey names a key: the hex of its SHA-256.
func Digest(token string) string { return apikey.Digest(token) }

// keys are the APIKeys with the hash of the token: in the namespace that it names, or everywhere.
func (a *Authenticator) keys(ctx context.Context, token string) ([]v1alpha1.APIKey, error) {
	var keys v1alpha1.APIKeyList
	err := a.config.Reader.List(ctx, &keys, client.UnsafeDisableDeepCopy,
		client.InNamespace(apikey.Namespace(token)), client.MatchingFields{indexSHA256: Digest(token)})
	if err != nil {
		return nil, fmt.Errorf("look up the API key: %w", err)
	}
	return keys.Items, nil
}

// owners are the Teams of the keys' namespaces.
func (a *Authenticator) owners(ctx context.Context, keys []v1alpha1.APIKey) (apikey.Owners, error) {
	owners := apikey.Owners{}
	if len(keys) == 0 {
		keys = []v1alpha1.APIKey{{}} // of no namespace: an unknown key costs a look-up as well
	}
	for i := range keys {
		namespace := keys[i].Namespace
		if _, known := owners[namespace]; known {
			continue
		}
		var teams v1alpha1.TeamList
		err := a.config.Reader.List(ctx, &teams, client.UnsafeDisableDeepCopy, client.MatchingFields{indexNamespace: namespace})
		if err != nil {
			return nil, fmt.Errorf("look up the team of the namespace: %w", err)
		}
		owners[namespace] = teams.Items
	}
	return owners, nil
}
