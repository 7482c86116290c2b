package signin

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// End is that sessions have ended, as a provider says by OpenID Connect Back-Channel Logout.
type End struct {
	Key string    // of the sessions
	At  time.Time // those that began later go on
}

// ErrLogoutToken is that a token ends nothing, because the provider did not make it, or not for this.
var ErrLogoutToken = errors.New("not a logout token of the provider")

// Everybody can send tokens, and for one that names an unknown key, the provider is asked for its keys.
const (
	logoutsPerSecond = 20
	logoutBurst      = 40
)

// Logout verifies what the provider sent: a token that ends one session, or all of a person.
func (o *OIDC) Logout(ctx context.Context, raw string) (End, error) {
	if !o.logouts.Allow() {
		return End{}, errors.New("too many logout tokens came at once")
	}
	provider, err := o.discover(ctx)
	if err != nil {
		return End{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	token, err := provider.Verifier(&oidc.Config{ClientID: o.Config.ClientID}).VerifyLogout(ctx, raw)
	if err != nil {
		return End{}, fmt.Errorf("%w: %w", ErrLogoutToken, err)
	}
	if token.SessionID != "" {
		return End{o.endKey("sid", token.SessionID), token.IssuedAt}, nil
	}
	return End{o.endKey("sub", token.Subject), token.IssuedAt}, nil
}

// EndKeys are the keys of the Ends that end a session.
func (o *OIDC) EndKeys(s Session) []string {
	keys := []string{o.endKey("sub", s.Subject)}
	if s.ID != "" {
		keys = append(keys, o.endKey("sid", s.ID))
	}
	return keys
}

// endKey can be the name of an entry of a Secret.
func (o *OIDC) endKey(kind, id string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{o.Config.Issuer, o.Config.ClientID, kind, id}, "\x00")))
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}
