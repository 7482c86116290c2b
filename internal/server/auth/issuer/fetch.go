package issuer

import (
	"bytes"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// fetcher reads the keys of an issuer.
type fetcher struct {
	issuer Issuer
	client *http.Client // follows no redirects, and bounds answers
}

func (f *fetcher) read(ctx context.Context) ([]jose.JSONWebKey, error) {
	keys, err := f.fetch(ctx)
	if err != nil { // it may quote what the issuer answered
		return nil, errors.New(plaintext.Line(fmt.Sprintf("the keys of the issuer %s cannot be read: %s", f.issuer.Name, err), maxProblem))
	}
	return keys, nil
}

func (f *fetcher) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	address := f.issuer.JWKSURL
	if address == "" {
		var err error
		if address, err = f.discover(ctx); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, resp.Status)
	}
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return parseKeys(content)
}

// discover asks the issuer where its keys are, and whether it is that issuer.
func (f *fetcher) discover(ctx context.Context) (string, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, f.client), f.issuer.URL)
	if err != nil {
		return "", err
	}
	var says struct {
		JWKSURL string `json:"jwks_uri"`
	}
	if err := provider.Claims(&says); err != nil {
		return "", err
	}
	if err := checkURL(says.JWKSURL); err != nil {
		return "", fmt.Errorf("jwks_uri %q: %w", says.JWKSURL, err)
	}
	return says.JWKSURL, nil
}

// parseKeys leaves out the keys that cannot sign a token, or that are not safe.
func parseKeys(content []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(content, &set); err != nil {
		return nil, fmt.Errorf("its keys are no JSON Web Key Set: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("it has %d keys, and %d are allowed", len(set.Keys), maxKeys)
	}
	var usable []jose.JSONWebKey
	for _, text := range set.Keys {
		var k jose.JSONWebKey
		if err := json.Unmarshal(bytes.TrimSpace(text), &k); err == nil && isUsable(&k) {
			usable = append(usable, k)
		}
	}
	if len(usable) == 0 {
		return nil, errors.New("it has no key that can be used")
	}
	return usable, nil
}

func isUsable(k *jose.JSONWebKey) bool {
	if k.KeyID == "" || k.Use != "" && k.Use != "sig" || !k.Valid() || !k.IsPublic() {
		return false
	}
	key, isRSA := k.Key.(*rsa.PublicKey)
	return !isRSA || key.N.BitLen() >= minRSABits && key.N.BitLen() <= maxRSABits
}
