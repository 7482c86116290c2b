package signin

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
)

const (
	byKey   = "key"
	byProxy = "proxy"
	byOIDC  = "oidc"
)

// Identity is who signed in, sealed into a cookie. Rights are looked up again with every request.
type Identity struct {
	Kind    string          `json:"k"` // how they signed in
	Data    json.RawMessage `json:"d"` // only People reads it
	Expires time.Time       `json:"e"`
}

// Access is what a person or a key may see and do at the moment.
type Access struct {
	Name  string // of the person or the key
	Key   string // namespace/name of the key; empty for a person
	Teams []TeamAccess
}

// TeamAccess is a team that a person or a key may see. Team is shared with the cache.
type TeamAccess struct {
	Team *v1alpha1.Team
	Act  bool // cancel and repeat runs
}

// People knows who may see which team.
type People struct {
	Keys     *auth.Keys
	Source   *Source
	Sessions *Sessions
	Cache    client.Reader // of Teams
	Clock    clock.PassiveClock
}

// SignIn returns the identity of an API key.
func (p *People) SignIn(ctx context.Context, key string) (Identity, error) {
	key = strings.TrimSpace(key)
	if _, err := p.Keys.Check(ctx, key); err != nil {
		return Identity{}, err
	}
	return identity(byKey, auth.CredentialOf(key))
}

// FromProxy returns the identity that a trusted proxy gave the request.
func (p *People) FromProxy(r *http.Request) (Identity, bool) {
	proxy := p.Source.setting().Proxy
	if proxy == nil {
		return Identity{}, false
	}
	person, ok := proxy.person(r)
	if !ok {
		return Identity{}, false
	}
	id, err := identity(byProxy, person)
	return id, err == nil
}

// Access is what the identity may see now.
func (p *People) Access(ctx context.Context, id Identity) (Access, error) {
	now := p.Source.setting()
	switch id.Kind {
	case byKey:
		return p.ofKey(ctx, id)
	case byProxy:
		var person Person
		if err := json.Unmarshal(id.Data, &person); err != nil || now.Proxy == nil {
			return Access{}, auth.ErrUnauthenticated
		}
		return p.ofGroups(ctx, now, person)
	case byOIDC:
		return p.ofToken(ctx, now, id)
	default:
		return Access{}, auth.ErrUnauthenticated
	}
}

func (p *People) ofKey(ctx context.Context, id Identity) (Access, error) {
	var c auth.Credential
	if err := json.Unmarshal(id.Data, &c); err != nil {
		return Access{}, auth.ErrUnauthenticated
	}
	holder, err := p.Keys.Recheck(ctx, c)
	if err != nil {
		return Access{}, err
	}
	return Access{
		Name:  "the API key " + cmp.Or(holder.Key.Spec.Description, holder.Key.Name),
		Key:   holder.Key.Namespace + "/" + holder.Key.Name,
		Teams: []TeamAccess{{Team: holder.Team, Act: holder.Team.Spec.KeysMayAct}},
	}, nil
}

func (p *People) ofToken(ctx context.Context, now *Setting, id Identity) (Access, error) {
	var session Session
	if err := json.Unmarshal(id.Data, &session); err != nil || now.Provider == nil ||
		p.Sessions.hasEnded(now.Provider.endKeys(session), session.Begun) {
		return Access{}, auth.ErrUnauthenticated
	}
	person, err := now.Provider.Check(ctx, session, p.Clock.Now())
	if errors.Is(err, errSignedOut) {
		return Access{}, auth.ErrUnauthenticated
	}
	if err != nil {
		return Access{}, awayError{err}
	}
	return p.ofGroups(ctx, now, person)
}

// ofGroups treats a person who may see no team as not signed in.
func (p *People) ofGroups(ctx context.Context, now *Setting, person Person) (Access, error) {
	access := Access{Name: person.Name}
	for _, grant := range now.teams(person) {
		team := &v1alpha1.Team{}
		err := p.Cache.Get(ctx, client.ObjectKey{Name: grant.Team}, team)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return Access{}, awayError{err}
		}
		if !team.Spec.Suspended {
			access.Teams = append(access.Teams, TeamAccess{Team: team, Act: grant.Act})
		}
	}
	if len(access.Teams) == 0 {
		return Access{}, auth.ErrUnauthenticated
	}
	return access, nil
}

// awayError is the failure of a server that may answer later.
type awayError struct{ error }

func (awayError) HTTPStatus() int { return http.StatusServiceUnavailable }

func identity(kind string, data any) (Identity, error) {
	encoded, err := json.Marshal(data)
	return Identity{Kind: kind, Data: encoded}, err
}
