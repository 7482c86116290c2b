package auth

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// MaxStaleness is how long known keys and TrustPolicies work while the API server is unavailable: longer, and revoked keys work too long;
// shorter, and a restart of the control plane rejects notifications that can be held.
const MaxStaleness = 10 * time.Minute

// Holder is who has a key. Both objects are shared with the cache and must not be changed.
type Holder struct {
	Team *v1alpha1.Team
	Key  *v1alpha1.APIKey
}

func (h Holder) principal() Principal {
	p := Principal{
		Team:   h.Team,
		Sender: Sender{Kind: KindKey, Name: h.Key.Namespace + "/" + h.Key.Name, Text: "the API key " + h.Key.Name},
		Grant:  grant.All(),
	}
	if expires := h.Key.Spec.ExpiresAt; expires != nil {
		p.Expires = expires.Time
	}
	return p
}

// Keys finds the team of a key.
type Keys struct {
	// Reader reads APIKeys and Teams from a cache that has the indexes of index.Setup.
	Reader client.Reader
	// Staleness is how long ago the API server was last seen.
	Staleness func() time.Duration

	// Used is called with each key that was accepted. It must not block.
	Used func(*v1alpha1.APIKey)

	// Clock decides which keys have expired.
	Clock clock.PassiveClock
}

// Check finds the team of a key. The error is an *Error.
func (k *Keys) Check(ctx context.Context, key string) (Holder, error) {
	return k.check(ctx, CredentialOf(key), func(keys []v1alpha1.APIKey, claims apikey.Claims) (*v1alpha1.APIKey, apikey.Verdict) {
		return apikey.Select(key, keys, claims, k.Clock.Now())
	})
}

// Credential identifies an accepted key without containing it.
type Credential struct {
	Namespace string // that the key names; empty if it names none
	Digest    string // of the key
}

// CredentialOf identifies a key.
func CredentialOf(key string) Credential {
	return Credential{Namespace: apikey.Namespace(key), Digest: apikey.Digest(key)}
}

// Recheck is Check for a key that was accepted before. The error is an *Error.
func (k *Keys) Recheck(ctx context.Context, c Credential) (Holder, error) {
	return k.check(ctx, c, func(keys []v1alpha1.APIKey, claims apikey.Claims) (*v1alpha1.APIKey, apikey.Verdict) {
		return apikey.SelectNamed(c.Namespace, keys, claims, k.Clock.Now())
	})
}

func (k *Keys) check(
	ctx context.Context, c Credential, choose func([]v1alpha1.APIKey, apikey.Claims) (*v1alpha1.APIKey, apikey.Verdict),
) (Holder, error) {
	if stale := k.Staleness(); stale > MaxStaleness {
		return Holder{}, Unavailable(fmt.Errorf("the API server was last seen %s ago", stale.Round(time.Second)))
	}
	keys, claims, err := k.lookUp(ctx, c)
	if err != nil {
		return Holder{}, Unavailable(err)
	}
	key, verdict := choose(keys, claims)
	if verdict != apikey.Accepted {
		return Holder{}, refusal(c.Namespace, key, verdict, k.Clock.Now())
	}
	team := v1alpha1.Owner(claims[key.Namespace])
	if team.Spec.Suspended {
		return Holder{}, ErrTeamSuspended
	}
	k.Used(key)
	return Holder{Team: team, Key: key}, nil
}

func (k *Keys) lookUp(ctx context.Context, c Credential) ([]v1alpha1.APIKey, apikey.Claims, error) {
	keys, err := index.Keys(ctx, k.Reader, c.Namespace, c.Digest)
	if err != nil {
		return nil, nil, err
	}
	if len(keys) == 0 {
		_, err := index.Claimants(ctx, k.Reader, "") // an unknown key takes as many look-ups
		return nil, nil, err
	}
	claims, err := index.Claims(ctx, k.Reader, keys)
	return keys, claims, err
}
