package auth

import (
	"context"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
)

// teamHeader names the team of senders who can act for several, perhaps with "/" and the name of a TrustPolicy.
const teamHeader = "Postflight-Team"

// The kinds of senders, in audit lines and for "postflight whoami".
const (
	KindKey            = "key"
	KindServiceAccount = "serviceaccount"
	KindToken          = "token" // of a CI system
	KindWait           = "wait"  // a wait token, which a notification was answered with
)

// Sender is who sent a request.
type Sender struct {
	Kind string
	Name string // namespace/name of the key, the ServiceAccount or the TrustPolicy
	// Subject is whom the token of a TrustPolicy names, such as a job; empty for others.
	Subject string
	Text    string // for people who look at what the sender did, such as "the API key ci"
}

// Principal is the sender of a request, and what it may do. Team is shared with the cache and must not be changed.
type Principal struct {
	Team    *v1alpha1.Team
	Sender  Sender
	Grant   grant.Grant
	Expires time.Time // of the credential; zero: later than anyone knows
	Origin  types.UID // of the TrustPolicy that trusts the sender; empty: none does
}

// Asked is what a request says besides its token.
type Asked struct {
	Team    string // the name of a Team, or ""
	Policy  string // the name of the only TrustPolicy of it that counts, or ""
	Actions []grant.Action
}

// Way is a kind of tokens.
type Way interface {
	// Claims reports whether a token looks like one of this kind, without asking anybody about it. It is tried as no other then.
	Claims(token string) bool
	// Authenticate finds the sender of a token. The error is an *Error. The Grant may leave out actions that are not asked for.
	Authenticate(ctx context.Context, token string, asked Asked) (Principal, error)
}

// Authenticator finds the sender of a request by its bearer token.
type Authenticator struct {
	Ways []Way
	Keys *Keys // for tokens that no way claims
}

// Authenticate returns an *Error if the token is no good. Wrong keys all take the same steps, so timing reveals nothing.
func (a *Authenticator) Authenticate(r *http.Request, actions ...grant.Action) (Principal, error) {
	if len(r.Header.Values(teamHeader)) > 1 { // proxies and frameworks differ in which one they take
		return Principal{}, errTwoTeams
	}
	token, wellFormed := bearerToken(r.Header)
	if wellFormed {
		for _, way := range a.Ways {
			if way.Claims(token) {
				team, policy, _ := strings.Cut(r.Header.Get(teamHeader), "/")
				return way.Authenticate(r.Context(), token, Asked{Team: team, Policy: policy, Actions: actions})
			}
		}
	}
	holder, err := a.Keys.Check(r.Context(), token)
	if err != nil {
		return Principal{}, err
	}
	if !wellFormed {
		return Principal{}, ErrUnauthenticated
	}
	if named, _, _ := strings.Cut(r.Header.Get(teamHeader), "/"); named != "" && named != holder.Team.Name {
		return Principal{}, keyOfAnotherTeam(holder, named)
	}
	return holder.principal(), nil
}
