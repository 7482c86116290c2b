package auth

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/apikey"
	"github.com/postflight-dev/postflight/internal/kube/index"
)

// maxStaleness is how long known keys work while the API server is unavailable: longer, and a revoked key works for too long;
// shorter, and a restart of the control plane rejects notifications that can be held.
const maxStaleness = 10 * time.Minute

// Principal is the sender of a request. Both objects are shared with the cache and must not be changed.
type Principal struct {
	Team *v1alpha1.Team
	Key  *v1alpha1.APIKey
}

// Config is what an Authenticator needs.
type Config struct {
	// Reader reads APIKeys and Teams from a cache that has the indexes of index.Setup.
	Reader client.Reader
	// Staleness is how long ago the API server was last seen.
	Staleness func() time.Duration

	// Used is called with each key that was accepted. It must not block.
	Used func(*v1alpha1.APIKey)

	// Clock decides which keys have expired.
	Clock clock.PassiveClock
}

// Authenticator finds the team that a request belongs to.
type Authenticator struct{ Config }

// Authenticate finds the team of the bearer key. The error is an *Error. Wrong keys all take the same steps, so timing reveals nothing.
func (a *Authenticator) Authenticate(ctx context.Context, r *http.Request) (Principal, error) {
	token, wellFormed := bearerToken(r.Header)
	p, err := a.CheckKey(ctx, token)
	if err == nil && !wellFormed {
		return Principal{}, ErrUnauthenticated
	}
	return p, err
}

// CheckKey finds the team of a key. The error is an *Error.
func (a *Authenticator) CheckKey(ctx context.Context, key string) (Principal, error) {
	return a.check(ctx, CredentialOf(key), func(keys []v1alpha1.APIKey, claims apikey.Claims) (*v1alpha1.APIKey, apikey.Verdict) {
		return apikey.Select(key, keys, claims, a.Clock.Now())
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

// CheckAgain is CheckKey for a key that was accepted before. The error is an *Error.
func (a *Authenticator) CheckAgain(ctx context.Context, c Credential) (Principal, error) {
	return a.check(ctx, c, func(keys []v1alpha1.APIKey, claims apikey.Claims) (*v1alpha1.APIKey, apikey.Verdict) {
		return apikey.SelectNamed(c.Namespace, keys, claims, a.Clock.Now())
	})
}

func (a *Authenticator) check(
	ctx context.Context, c Credential, choose func([]v1alpha1.APIKey, apikey.Claims) (*v1alpha1.APIKey, apikey.Verdict),
) (Principal, error) {
	if stale := a.Staleness(); stale > maxStaleness {
		return Principal{}, unavailable(fmt.Errorf("the API server was last seen %s ago", stale.Round(time.Second)))
	}
	keys, claims, err := a.lookUp(ctx, c)
	if err != nil {
		return Principal{}, unavailable(err)
	}
	key, verdict := choose(keys, claims)
	if verdict != apikey.Accepted {
		return Principal{}, refusal(c.Namespace, key, verdict, a.Clock.Now())
	}
	team := v1alpha1.Owner(claims[key.Namespace])
	if team.Spec.Suspended {
		return Principal{}, ErrTeamSuspended
	}
	a.Used(key)
	return Principal{Team: team, Key: key}, nil
}

func (a *Authenticator) lookUp(ctx context.Context, c Credential) ([]v1alpha1.APIKey, apikey.Claims, error) {
	keys, err := index.Keys(ctx, a.Reader, c.Namespace, c.Digest)
	if err != nil {
		return nil, nil, err
	}
	if len(keys) == 0 {
		_, err := index.Claimants(ctx, a.Reader, "") // an unknown key takes as many look-ups
		return nil, nil, err
	}
	claims, err := index.Claims(ctx, a.Reader, keys)
	return keys, claims, err
}
