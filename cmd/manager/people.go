package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/server/signin"
)

// The ways in which people sign in to the run pages.
const (
	byKey   = "key"
	byProxy = "proxy"
	byOIDC  = "oidc"
)

// endedSessions are those that a provider has ended.
type endedSessions interface {
	End(ctx context.Context, end signin.End) error
	Ended(keys []string, begun time.Time) bool
}

// people know who may see which team on the run pages.
type people struct {
	keys   *auth.Authenticator
	source *signin.Source
	ended  endedSessions
	cache  client.Reader
	clock  clock.PassiveClock
}

// SignIn returns the identity of an API key.
func (p *people) SignIn(ctx context.Context, key string) (pages.Identity, error) {
	key = strings.TrimSpace(key)
	if _, err := p.keys.CheckKey(ctx, key); err != nil {
		return pages.Identity{}, err
	}
	return identity(byKey, auth.CredentialOf(key))
}

// FromProxy returns the identity that a trusted proxy gave the request.
func (p *people) FromProxy(r *http.Request) (pages.Identity, bool) {
	proxy := p.source.Current().Proxy
	if proxy == nil {
		return pages.Identity{}, false
	}
	person, ok := proxy.Person(r)
	if !ok {
		return pages.Identity{}, false
	}
	id, err := identity(byProxy, person)
	return id, err == nil
}

// Access is what the identity may see now.
func (p *people) Access(ctx context.Context, id pages.Identity) (pages.Access, error) {
	now := p.source.Current()
	switch id.Kind {
	case byKey:
		return p.ofKey(ctx, id)
	case byProxy:
		var person signin.Person
		if err := json.Unmarshal(id.Data, &person); err != nil || now.Proxy == nil {
			return pages.Access{}, auth.ErrUnauthenticated
		}
		return p.ofGroups(ctx, now, person)
	case byOIDC:
		return p.ofToken(ctx, now, id)
	default:
		return pages.Access{}, auth.ErrUnauthenticated
	}
}

func (p *people) ofKey(ctx context.Context, id pages.Identity) (pages.Access, error) {
	var c auth.Credential
	if err := json.Unmarshal(id.Data, &c); err != nil {
		return pages.Access{}, auth.ErrUnauthenticated
	}
	principal, err := p.keys.CheckAgain(ctx, c)
	if err != nil {
		return pages.Access{}, err
	}
	return pages.Access{
		Name:  "the API key " + cmp.Or(principal.Key.Spec.Description, principal.Key.Name),
		Key:   principal.Key.Namespace + "/" + principal.Key.Name,
		Teams: []pages.TeamAccess{{Team: principal.Team, Act: principal.Team.Spec.KeysMayAct}},
	}, nil
}

func (p *people) ofToken(ctx context.Context, now *signin.Setting, id pages.Identity) (pages.Access, error) {
	var session signin.Session
	if err := json.Unmarshal(id.Data, &session); err != nil || now.Provider == nil ||
		p.ended.Ended(now.Provider.EndKeys(session), session.Begun) {
		return pages.Access{}, auth.ErrUnauthenticated
	}
	person, err := now.Provider.Check(ctx, session, p.clock.Now())
	if errors.Is(err, signin.ErrSignedOut) {
		return pages.Access{}, auth.ErrUnauthenticated
	}
	if err != nil {
		return pages.Access{}, awayError{err}
	}
	return p.ofGroups(ctx, now, person)
}

// ofGroups are the teams that the groups of a person may see. Somebody who may see none is nobody.
func (p *people) ofGroups(ctx context.Context, now *signin.Setting, person signin.Person) (pages.Access, error) {
	access := pages.Access{Name: person.Name}
	for _, grant := range now.Teams(person) {
		team := &v1alpha1.Team{}
		err := p.cache.Get(ctx, client.ObjectKey{Name: grant.Team}, team)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return pages.Access{}, awayError{err}
		}
		if !team.Spec.Suspended {
			access.Teams = append(access.Teams, pages.TeamAccess{Team: team, Act: grant.Act})
		}
	}
	if len(access.Teams) == 0 {
		return pages.Access{}, auth.ErrUnauthenticated
	}
	return access, nil
}

// awayError is that nobody can be asked at the moment.
type awayError struct{ error }

func (awayError) HTTPStatus() int { return http.StatusServiceUnavailable }

func identity(kind string, data any) (pages.Identity, error) {
	encoded, err := json.Marshal(data)
	return pages.Identity{Kind: kind, Data: encoded}, err
}
