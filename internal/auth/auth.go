package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
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

// Authenticator tells which team a request belongs to.
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
	key, err := a.key(ctx, Digest(token))
	if err != nil {
		return Principal{}, unavailable(err)
	}
	team, err := a.team(ctx, key)
	if err != nil {
		return Principal{}, unavailable(err)
	}
	if !wellFormed || key == nil || team == nil {
		return Principal{}, ErrUnauthenticated
	}
	if team.Spec.Suspended {
		return Principal{}, ErrTeamSuspended
	}
	a.config.Used(key)
	return Principal{Team: team, Key: key}, nil
}

// Digest is how an APIKey names a key: the hex of its SHA-256.
func Digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// key finds the APIKey with the digest, or nil where there is none that may be accepted.
func (a *Authenticator) key(ctx context.Context, sha string) (*v1alpha1.APIKey, error) {
	var keys v1alpha1.APIKeyList
	err := a.config.Reader.List(ctx, &keys, client.MatchingFields{indexSHA256: sha}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("look up the API key: %w", err)
	}
	return acceptable(keys.Items, a.config.Now()), nil
}

// acceptable is the first of the APIKeys that hold one digest, if all of them may be accepted and
// are in one namespace: in two, nobody can tell whose key it is, and both are refused. Within one
// namespace, revoking one of several revokes the key.
func acceptable(keys []v1alpha1.APIKey, now time.Time) *v1alpha1.APIKey {
	for i := range keys {
		if keys[i].Namespace != keys[0].Namespace || !valid(&keys[i], now) {
			return nil
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return &keys[0]
}

func valid(key *v1alpha1.APIKey, now time.Time) bool {
	expires := key.Spec.ExpiresAt
	return !key.Spec.Suspended && key.DeletionTimestamp == nil && (expires == nil || now.Before(expires.Time))
}

// team finds the one Team that the key's namespace belongs to; nil where none or several claim it.
func (a *Authenticator) team(ctx context.Context, key *v1alpha1.APIKey) (*v1alpha1.Team, error) {
	namespace := "" // no Team's, so that a wrong key is looked up as well
	if key != nil {
		namespace = key.Namespace
	}
	var teams v1alpha1.TeamList
	err := a.config.Reader.List(ctx, &teams, client.MatchingFields{indexNamespace: namespace}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("look up the team of the namespace: %w", err)
	}
	if len(teams.Items) != 1 || teams.Items[0].DeletionTimestamp != nil {
		return nil, nil
	}
	return &teams.Items[0], nil
}
