package auth

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/seal"
)

const (
	waitPrefix  = "pfw_"
	waitPurpose = "wait token"

	// WaitFor is how long a wait token works: longer than a job of a CI system waits, and no longer than a person's session.
	WaitFor = 12 * time.Hour
)

// WaitTokens are for senders whose own tokens end before their runs do. One reads how the runs end that a notification was answered with.
// It is sealed, not stored, so that every replica knows it.
type WaitTokens struct {
	Sealer *seal.Sealer
	Reader client.Reader // a cache of Teams, with the indexes of index.Setup
	// Vouched reports whether the TrustPolicy of the sender is still there; nil: there are none.
	Vouched func(ctx context.Context, name string, uid types.UID) (bool, error)
	Clock   clock.PassiveClock
}

var errManyRuns = errors.New("the answer has more runs than a wait token has room for")

// waitTicket is what a wait token holds.
type waitTicket struct {
	Namespace string    `json:"s"`
	Team      types.UID `json:"t"` // a later Team of the namespace may be other people
	Kind      string    `json:"k"` // of the sender that notified
	Name      string    `json:"n"`
	Origin    types.UID `json:"o,omitempty"`
	Runs      []string  `json:"r"`
	Expires   time.Time `json:"e"`
}

// Issue returns a token for the sender of a notification, and when it ends.
func (w *WaitTokens) Issue(ctx context.Context, p Principal, runs []string) (token string, expires time.Time, err error) {
	expires = w.Clock.Now().Add(WaitFor).UTC().Truncate(time.Second)
	sealed, err := w.Sealer.Seal(ctx, waitPurpose, waitTicket{
		Namespace: p.Team.NamespaceName(), Team: p.Team.UID, Kind: p.Sender.Kind, Name: p.Sender.Name, Origin: p.Origin,
		Runs: runs, Expires: expires,
	})
	if token = waitPrefix + sealed; len(token) > maxTokenBytes { // of some hundred runs
		return "", time.Time{}, errManyRuns
	}
	return token, expires, err
}

// Claims implements Way.
func (w *WaitTokens) Claims(token string) bool { return strings.HasPrefix(token, waitPrefix) }

// Authenticate implements Way.
func (w *WaitTokens) Authenticate(ctx context.Context, token string, asked Asked) (Principal, error) {
	var ticket waitTicket
	err := w.Sealer.Unseal(ctx, waitPurpose, strings.TrimPrefix(token, waitPrefix), &ticket)
	switch {
	case errors.Is(err, seal.ErrSeal):
		return Principal{}, ErrUnauthenticated
	case err != nil:
		return Principal{}, Unavailable(err)
	case !w.Clock.Now().Before(ticket.Expires):
		return Principal{}, errWaitTokenExpired
	case len(ticket.Runs) == 0: // a Grant without Runs is for all
		return Principal{}, ErrUnauthenticated
	}
	team, err := index.Owner(ctx, w.Reader, ticket.Namespace)
	switch {
	case err != nil:
		return Principal{}, Unavailable(err)
	case team == nil || team.UID != ticket.Team || asked.Team != "" && asked.Team != team.Name:
		return Principal{}, ErrUnauthenticated
	case team.Spec.Suspended:
		return Principal{}, ErrTeamSuspended
	}
	if err := w.checkOrigin(ctx, ticket); err != nil {
		return Principal{}, err
	}
	return Principal{
		Team:   team,
		Sender: Sender{Kind: KindWait, Name: ticket.Name, Text: "a wait token of the " + ticket.Kind + " " + ticket.Name},
		Grant:  grant.Grant{Actions: []grant.Action{grant.Outcome}, Runs: ticket.Runs}, Expires: ticket.Expires, Origin: ticket.Origin,
	}, nil
}

// checkOrigin makes the deletion of a TrustPolicy end the wait tokens that it led to.
func (w *WaitTokens) checkOrigin(ctx context.Context, ticket waitTicket) error {
	if ticket.Origin == "" {
		return nil
	}
	if w.Vouched == nil {
		return ErrUnauthenticated
	}
	vouched, err := w.Vouched(ctx, ticket.Name, ticket.Origin)
	if err != nil {
		return Unavailable(err)
	}
	if !vouched {
		return ErrUnauthenticated
	}
	return nil
}
