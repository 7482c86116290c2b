package issuer

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/trust"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/server/auth/keyset"
)

// Config is what a Way needs.
type Config struct {
	Issuers []Issuer
	// Client returns a client for the servers of issuers that follows no redirects, and bounds answers. The roots may be nil: public ones.
	Client func(roots *x509.CertPool) *http.Client

	// GitHub is the host of the manager's own GitHub, which repositories of Teams without a host mean.
	GitHub string

	// Reader reads TrustPolicies and Teams from a cache that has the indexes of index.Setup.
	Reader client.Reader
	// Staleness is how long ago the API server was last seen.
	Staleness func() time.Duration

	Clock  clock.PassiveClock // with which the times of tokens are compared
	Steady clock.PassiveClock // measures pauses

	Log logr.Logger // is told in a while that keys cannot be read
}

// Way lets senders in whose token is of a listed issuer and is trusted by a TrustPolicy.
type Way struct {
	Config
	sources  map[string]*source // by URL
	compiled compiledPolicies
	deciding *fairness.Semaphore // expressions take a processor: one sender may not take all
}

// maxDecideWait is how long a token waits for earlier tokens. A decision takes a few milliseconds, and 0.2 s if policies are as expensive
// as they may be.
const maxDecideWait = 5 * time.Second

// New returns a Way that asks an issuer for its keys when the first of its tokens comes.
func New(c Config) *Way {
	w := &Way{Config: c, sources: map[string]*source{}, deciding: fairness.NewSemaphore(runtime.GOMAXPROCS(0))}
	for _, i := range c.Issuers {
		w.sources[i.URL] = &source{Issuer: i, keys: keyset.New(keyset.Config{
			Read: (&fetcher{i, c.Client(i.roots())}).read, Clock: c.Steady, Log: c.Log.WithValues("issuer", i.Name),
			Every: fetchEvery, Timeout: fetchTimeout, RefreshAfter: refreshAfter, KeepFor: keepFor, Waiting: maxWaiting,
		})}
	}
	return w
}

// Lists reports whether the operator lists an issuer.
func (w *Way) Lists(issuer string) bool { return w.sources[issuer] != nil }

// Claims implements auth.Way.
func (w *Way) Claims(token string) bool {
	issuer, ok := issuerOf(token)
	return ok && w.Lists(issuer)
}

// Authenticate implements auth.Way.
func (w *Way) Authenticate(ctx context.Context, token string, asked auth.Asked) (auth.Principal, error) {
	claims, err := w.verify(ctx, token)
	if err != nil {
		return auth.Principal{}, err
	}
	found, err := w.candidates(ctx, claims, asked)
	if err != nil {
		return auth.Principal{}, auth.Unavailable(err)
	}
	d, err := w.decide(ctx, claims, found.policies, asked)
	if err != nil {
		return auth.Principal{}, auth.Unavailable(err)
	}
	if d.Policy == nil {
		logr.FromContextOrDiscard(ctx).V(1).Info("no TrustPolicy lets the sender of a token in",
			"issuer", claims.String("iss"), "subject", subjectOf(claims), "reasons", d.Reasons, "ofTeamsNotNamed", found.unnamed)
		return auth.Principal{}, auth.Forbidden("no TrustPolicy lets the sender of the token in", d.Problem)
	}
	team := found.teams[d.Policy.Namespace]
	if team.Spec.Suspended {
		return auth.Principal{}, auth.ErrTeamSuspended
	}
	return auth.Principal{
		Team: team, Grant: d.Grant, Expires: claims.Expires(), Origin: d.Policy.UID,
		Sender: auth.Sender{
			Kind: auth.KindToken, Name: d.Policy.Namespace + "/" + d.Policy.Name, Subject: subjectOf(claims),
			Text: fmt.Sprintf("%s, by the TrustPolicy %s", cmp.Or(subjectOf(claims), "a job"), d.Policy.Name),
		},
	}, nil
}

func (w *Way) decide(
	ctx context.Context, claims *trust.Claims, policies []*v1alpha1.TrustPolicy, asked auth.Asked,
) (trust.Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, maxDecideWait)
	defer cancel()
	release, err := w.deciding.Acquire(ctx, claims.String("iss")+" "+claims.String("sub"))
	if err != nil {
		return trust.Decision{}, fmt.Errorf("as many tokens are being compared with TrustPolicies as there are processors: %w", err)
	}
	defer release()
	return trust.Decide(claims, policies, trust.Asked{Team: asked.Team, Policy: asked.Policy, Actions: asked.Actions}, w.compiled.get), nil
}

func subjectOf(c *trust.Claims) string { return plaintext.Line(c.String("sub"), maxProblem) }

// verify returns an *auth.Error that does not tell which keys and policies exist.
func (w *Way) verify(ctx context.Context, token string) (*trust.Claims, error) {
	issuer, _ := issuerOf(token)
	s := w.sources[issuer]
	if s == nil {
		return nil, auth.ErrUnauthenticated
	}
	payload, err := s.verify(ctx, token)
	switch {
	case errors.Is(err, errForged):
		return nil, auth.Refused(err.Error(),
			"The token was not signed by a key of its issuer, or not as its issuer signs tokens. Ask the CI system for another one.")
	case errors.Is(err, keyset.ErrUnknown):
		return nil, auth.Refused(err.Error(),
			"The token was signed with a key that its issuer does not publish. Ask the CI system for another one.")
	case errors.Is(err, keyset.ErrUnclear):
		return nil, auth.Unclear(err)
	case err != nil:
		return nil, auth.Unavailable(err)
	}
	claims, err := trust.ParseClaims(payload)
	if err != nil {
		return nil, auth.Refused("the claims of the token cannot be read",
			"The claims of the token cannot be read: each may be there once, in JSON.")
	}
	if problem := claims.Problem(issuer, s.Audiences, w.Clock.Now()); problem != "" {
		return nil, auth.Refused("the token is not valid", problem)
	}
	return claims, nil
}

// candidates are the TrustPolicies that may let a sender in.
type candidates struct {
	policies []*v1alpha1.TrustPolicy
	teams    map[string]*v1alpha1.Team // by namespace; nil: no Team owns it, or two claim it
	unnamed  int                       // policies of Teams that neither the sender nor the operator names
}

func (w *Way) candidates(ctx context.Context, claims *trust.Claims, asked auth.Asked) (c candidates, err error) {
	if stale := w.Staleness(); stale > auth.MaxStaleness {
		return c, fmt.Errorf("the API server was last seen %s ago", stale.Round(time.Second))
	}
	found, err := w.find(ctx, claims, asked.Team)
	if err != nil {
		return c, err
	}
	c.teams = map[string]*v1alpha1.Team{}
	for _, p := range found {
		team, known := c.teams[p.Namespace]
		if !known {
			if team, err = index.Owner(ctx, w.Reader, p.Namespace); err != nil {
				return c, err
			}
			c.teams[p.Namespace] = team
		}
		switch {
		case team == nil || p.DeletionTimestamp != nil:
		case w.names(claims, asked, team):
			c.policies = append(c.policies, p)
		default:
			c.unnamed++
		}
	}
	return c, nil
}

// names reports whether the sender or the operator names a Team. Without that, no token may reach it: anyone who can write a TrustPolicy
// in some namespace can make it match the tokens of others.
func (w *Way) names(claims *trust.Claims, asked auth.Asked, team *v1alpha1.Team) bool {
	if asked.Team != "" {
		return asked.Team == team.Name
	}
	return claims.ListedFor(team, w.GitHub)
}

// find looks in the namespace of the Team only, if one is named.
func (w *Way) find(ctx context.Context, claims *trust.Claims, team string) ([]*v1alpha1.TrustPolicy, error) {
	if team == "" {
		return index.TrustPolicies(ctx, w.Reader, "", claims.Keys())
	}
	named, err := index.Team(ctx, w.Reader, team)
	if err != nil || named == nil {
		return nil, err
	}
	return index.TrustPolicies(ctx, w.Reader, named.NamespaceName(), claims.Keys())
}

// Vouched reports whether the TrustPolicy of a sender's name still exists, and trusts any token.
func (w *Way) Vouched(ctx context.Context, sender string, uid types.UID) (bool, error) {
	namespace, name, _ := strings.Cut(sender, "/")
	p := &v1alpha1.TrustPolicy{}
	err := w.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, p)
	if err != nil {
		return false, apierror.IgnoreNotFound(err)
	}
	_, invalid := w.compiled.get(p)
	return p.UID == uid && p.DeletionTimestamp == nil && invalid == nil && w.Lists(p.Spec.Issuer), nil
}
