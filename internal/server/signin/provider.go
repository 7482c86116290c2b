package signin

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
)

// Provider is the OpenID Connect provider that the Source names at the moment.
type Provider struct {
	Source   *Source
	Sessions *Sessions
}

// Name returns the label of its button, or "" without a provider.
func (p Provider) Name() string {
	if o := p.Source.setting().Provider; o != nil {
		return o.Config.Name
	}
	return ""
}

// Begin returns the URL to send the browser to, and what to remember until it returns to the callback.
func (p Provider) Begin(ctx context.Context, callback string) (string, json.RawMessage, error) {
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

// Finish returns the identity that the query of the callback proves.
func (p Provider) Finish(ctx context.Context, memo json.RawMessage, query url.Values) (Identity, error) {
	var attempt Attempt
	if err := json.Unmarshal(memo, &attempt); err != nil {
		return Identity{}, err
	}
	o, err := p.current()
	if err != nil {
		return Identity{}, err
	}
	session, err := o.Finish(ctx, attempt, query)
	if err != nil {
		return Identity{}, err
	}
	id, err := identity(byOIDC, session)
	id.Expires = session.Expires
	return id, err
}

// Logout ends the sessions that a token of the provider names, on every replica.
func (p Provider) Logout(ctx context.Context, token string) error {
	o, err := p.current()
	if err != nil {
		return err
	}
	end, err := o.Logout(ctx, token)
	if errors.Is(err, errLogoutToken) {
		return err
	}
	if err != nil {
		return awayError{err}
	}
	if err := p.Sessions.End(ctx, end); err != nil {
		return awayError{err}
	}
	return nil
}

// current fails if the file no longer names a provider.
func (p Provider) current() (*OIDC, error) {
	if o := p.Source.setting().Provider; o != nil {
		return o, nil
	}
	return nil, errors.New("the file that says who may sign in names no provider any more")
}
