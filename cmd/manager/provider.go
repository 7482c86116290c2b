package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/server/signin"
)

// provider is the OpenID Connect provider as the pages want it: the one that the file names at the moment.
type provider struct {
	source *signin.Source
	ended  endedSessions
}

func (p provider) Name() string {
	if o := p.source.Current().Provider; o != nil {
		return o.Config.Name
	}
	return ""
}

func (p provider) Begin(ctx context.Context, callback string) (string, json.RawMessage, error) {
	o, err := p.current()
	if err != nil {
		return "", nil, err
	}
	address, attempt, err := o.Begin(ctx, callback)
	if err != nil {
		return "", nil, err
	}
	memo, err := json.Marshal(attempt)
	return address, memo, err
}

func (p provider) Finish(ctx context.Context, memo json.RawMessage, query url.Values) (pages.Identity, error) {
	var attempt signin.Attempt
	if err := json.Unmarshal(memo, &attempt); err != nil {
		return pages.Identity{}, err
	}
	o, err := p.current()
	if err != nil {
		return pages.Identity{}, err
	}
	session, err := o.Finish(ctx, attempt, query)
	if err != nil {
		return pages.Identity{}, err
	}
	id, err := identity(byOIDC, session)
	id.Expires = session.Expires
	return id, err
}

func (p provider) Logout(ctx context.Context, token string) error {
	o, err := p.current()
	if err != nil {
		return err
	}
	end, err := o.Logout(ctx, token)
	if errors.Is(err, signin.ErrLogoutToken) {
		return err
	}
	if err != nil {
		return awayError{err}
	}
	if err := p.ended.End(ctx, end); err != nil {
		return awayError{err}
	}
	return nil
}

// current is the provider, which the file may have lost since the page was shown.
func (p provider) current() (*signin.OIDC, error) {
	if o := p.source.Current().Provider; o != nil {
		return o, nil
	}
	return nil, errors.New("the file that says who may sign in names no provider any more")
}

// registerSignIn tells operators when the file that says who may sign in does not count.
func registerSignIn(source *signin.Source, metrics prometheus.Registerer) error {
	return metrics.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "postflight_sign_in_config_valid",
		Help: "Whether the manager could use the file of --sign-in-config when it last read it; 0: what the file said before still counts.",
	}, func() float64 {
		if source.Valid() {
			return 1
		}
		return 0
	}))
}
