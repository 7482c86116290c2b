package signin

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"
)

// End ends sessions, by OpenID Connect Back-Channel Logout.
type End struct {
	Key string    // of the sessions
	At  time.Time // sessions that began later continue
}

// errLogoutToken means that the provider did not issue the token for a logout.
var errLogoutToken = errors.New("not a logout token of the provider")

// Anyone can send tokens. These limit the requests for keys, which tokens of known keys do not need.
const (
	keyRequestsPerSecond = 1
	keyRequestBurst      = 5
)

// Logout verifies a token by which the provider ends one session, or all of a person.
func (o *OIDC) Logout(ctx context.Context, raw string) (End, error) {
	provider, err := o.discover(ctx)
	if err != nil {
		return End{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	token, err := o.logoutVerifier(provider).VerifyLogout(ctx, raw)
	if err != nil && strings.Contains(err.Error(), "fetching keys") { // as go-oidc says
		return End{}, fmt.Errorf("ask the provider for its keys: %w", err)
	}
	if err != nil {
		return End{}, fmt.Errorf("%w: %w", errLogoutToken, err)
	}
	if token.SessionID != "" {
		return End{o.endKey("sid", token.SessionID), token.IssuedAt}, nil
	}
	return End{o.endKey("sub", token.Subject), token.IssuedAt}, nil
}

// logoutVerifier keeps the keys that it has seen, and asks for others within limits.
func (o *OIDC) logoutVerifier(provider *oidc.Provider) *oidc.IDTokenVerifier {
	o.logoutOnce.Do(func() {
		client := &http.Client{Timeout: providerTimeout, Transport: &limitedTransport{rate.NewLimiter(keyRequestsPerSecond, keyRequestBurst)}}
		ctx := oidc.ClientContext(context.Background(), client)
		o.logouts = provider.VerifierContext(ctx, &oidc.Config{ClientID: o.Config.ClientID})
	})
	return o.logouts
}

type limitedTransport struct{ limit *rate.Limiter }

func (l *limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !l.limit.Allow() {
		return nil, errors.New("it was asked too often")
	}
	return http.DefaultTransport.RoundTrip(r)
}

// endKeys returns the keys of the Ends that end a session.
func (o *OIDC) endKeys(s Session) []string {
	keys := []string{o.endKey("sub", s.Subject)}
	if s.ID != "" {
		keys = append(keys, o.endKey("sid", s.ID))
	}
	return keys
}

// endKey returns a valid name of an entry of a Secret.
func (o *OIDC) endKey(kind, id string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{o.Config.Issuer, o.Config.ClientID, kind, id}, "\x00")))
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}
