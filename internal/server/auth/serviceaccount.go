package auth

import (
	"context"
	"crypto/sha256"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/auth/keyset"
)

// ServiceAccountConfig is what ServiceAccounts needs.
type ServiceAccountConfig struct {
	Reviewer Reviewer
	Keys     *ClusterKeys // nil: they cannot be read
	// Reader reads Teams from a cache that has the indexes of index.Setup.
	Reader client.Reader
	// Elsewhere reports whether another way has the tokens of an issuer, such as another cluster's, except those that the API server
	// signed: clusters may have the same name. Nil: none has.
	Elsewhere func(issuer string) bool
	Clock     clock.PassiveClock // may differ from the API server's
}

// ServiceAccounts is the Way of pods in the cluster: their tokens are checked by the API server, which also says what they may do.
type ServiceAccounts struct {
	ServiceAccountConfig
	reviews *reviews
	refused refusedTokens
	known   *knownAccounts
	flights singleflight.Group // of the questions that several requests wait for
}

// NewServiceAccounts returns a Way that knows no account yet.
func NewServiceAccounts(c ServiceAccountConfig) *ServiceAccounts {
	return &ServiceAccounts{
		ServiceAccountConfig: c, reviews: newReviews(c.Reviewer, accountReviews), refused: newRefusedTokens(), known: newKnownAccounts(),
	}
}

// Claims implements Way. A token of another audience is claimed, too: its sender learns what is wrong.
func (s *ServiceAccounts) Claims(token string) bool {
	claims, ok := serviceaccount.Unverified(token)
	_, _, isAccount := claims.Account()
	if !ok || !isAccount || !claims.Bound {
		return false
	}
	return s.Elsewhere == nil || !s.Elsewhere(claims.Issuer) || s.Keys.check(context.Background(), token) == goodSignature
}

// Authenticate implements Way.
func (s *ServiceAccounts) Authenticate(ctx context.Context, token string, asked Asked) (Principal, error) {
	claims, ok := serviceaccount.Unverified(token)
	if !ok {
		return Principal{}, errBadAccountToken
	}
	if err := claimProblem(claims, s.Clock.Now()); err != nil {
		return Principal{}, err
	}
	known, err := s.account(ctx, token, claims)
	if err != nil {
		return Principal{}, err
	}
	return s.authorize(ctx, known, asked)
}

// claimProblem refuses what a token itself says is wrong.
func claimProblem(claims serviceaccount.Claims, now time.Time) error {
	switch {
	case !claims.For(serviceaccount.Audience):
		return errOtherAudience
	case claims.Expired(now):
		return errAccountTokenExpired
	case !claims.MayBeGood(now, serviceaccount.Audience):
		return errBadAccountToken
	default:
		return nil
	}
}

// account returns the account of a token, which the API server is asked about if its signature is good.
func (s *ServiceAccounts) account(ctx context.Context, token string, claims serviceaccount.Claims) (*knownAccount, error) {
	id, now := sha256.Sum256([]byte(token)), s.Clock.Now()
	namespace, _, _ := claims.Account()
	if known := s.known.get(namespace, id, now); known != nil {
		return known, nil
	}
	if s.refused.has(token, now) {
		return nil, errBadAccountToken
	}
	group := namespace
	switch s.Keys.check(ctx, token) {
	case forgedSignature:
		return nil, errBadAccountToken
	case unclearSignature:
		return nil, Unclear(keyset.ErrUnclear)
	case unknownSignature:
		group = "" // anybody can claim to be of a namespace
	}
	known, err, _ := s.flights.Do(string(id[:]), func() (any, error) {
		if known := s.known.get(namespace, id, now); known != nil { // the answer has just come
			return known, nil
		}
		known, err := s.review(context.WithoutCancel(ctx), token, group, claims.Expires)
		if err == nil {
			s.known.add(namespace, id, known)
		}
		return known, err
	})
	if err != nil {
		return nil, err
	}
	return known.(*knownAccount), nil
}

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create

func (s *ServiceAccounts) review(ctx context.Context, token, group string, expires time.Time) (*knownAccount, error) {
	asked := s.Clock.Now() // the answer is no older
	review := serviceaccount.TokenReview(token, serviceaccount.Audience)
	if err := s.reviews.ask(ctx, group, review); err != nil {
		return nil, Unavailable(err)
	}
	account, ok := serviceaccount.Recognized(review.Status, serviceaccount.Audience)
	if !ok {
		s.refused.add(token, s.Clock.Now())
		return nil, errBadAccountToken
	}
	return &knownAccount{
		Account: account, group: group, id: sha256.Sum256([]byte(token)), expires: expires, until: serviceaccount.CountsUntil(asked, expires),
	}, nil
}

// authorize finds the team, and what the account may do for it.
func (s *ServiceAccounts) authorize(ctx context.Context, known *knownAccount, asked Asked) (Principal, error) {
	if asked.Team != "" && len(validation.IsDNS1123Label(asked.Team)) > 0 {
		return Principal{}, accountRefusal(known.Account, serviceaccount.Target{Asked: asked.Team}, serviceaccount.NotAllowed, asked.Actions)
	}
	target, err := s.target(ctx, known.Account, asked.Team)
	if err != nil {
		return Principal{}, Unavailable(err)
	}
	if verdict := target.Early(); verdict != "" {
		return Principal{}, accountRefusal(known.Account, target, verdict, asked.Actions)
	}
	allowed := map[string]bool{}
	for _, verb := range serviceaccount.VerbsOf(asked.Actions) {
		if allowed[verb], err = s.allows(ctx, known, right{target.Namespace, verb}); err != nil {
			return Principal{}, Unavailable(err)
		}
	}
	granted := serviceaccount.Granted(asked.Actions, allowed)
	team, verdict := target.Judge(len(granted) > 0)
	if verdict != serviceaccount.Accepted {
		return Principal{}, accountRefusal(known.Account, target, verdict, asked.Actions)
	}
	name := known.String()
	return Principal{
		Team: team, Sender: Sender{Kind: KindServiceAccount, Name: name, Text: "the ServiceAccount " + name},
		Grant: grant.Grant{Actions: granted}, Expires: known.expires,
	}, nil
}

func (s *ServiceAccounts) target(ctx context.Context, a serviceaccount.Account, asked string) (t serviceaccount.Target, err error) {
	var named *v1alpha1.Team
	if asked != "" {
		team := &v1alpha1.Team{}
		err := s.Reader.Get(ctx, client.ObjectKey{Name: asked}, team, client.UnsafeDisableDeepCopy)
		if apierror.IgnoreNotFound(err) != nil {
			return t, err
		}
		if err == nil {
			named = team
		}
	}
	t = serviceaccount.TargetOf(asked, named, a)
	t.Claimants, err = index.Claimants(ctx, s.Reader, t.Namespace)
	return t, err
}

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

func (s *ServiceAccounts) allows(ctx context.Context, known *knownAccount, r right) (bool, error) {
	if allowed, ok := known.allows(r, s.Clock.Now()); ok {
		return allowed, nil
	}
	flight := string(known.id[:]) + r.namespace + "/" + r.verb
	allowed, err, _ := s.flights.Do(flight, func() (any, error) {
		now := s.Clock.Now()
		if allowed, ok := known.allows(r, now); ok { // the answer has just come
			return allowed, nil
		}
		review := serviceaccount.AccessReview(known.Account, r.namespace, r.verb)
		if err := s.reviews.ask(context.WithoutCancel(ctx), known.group, review); err != nil {
			return false, err
		}
		allowed := serviceaccount.Allowed(review.Status)
		known.learn(r, allowed, now)
		return allowed, nil
	})
	return err == nil && allowed.(bool), err
}
