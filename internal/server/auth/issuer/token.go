package issuer

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/postflight-dev/postflight/internal/core/access/jwt"
	"github.com/postflight-dev/postflight/internal/server/auth/keyset"
)

// errForged is the answer to a token that no key of its issuer signed, whatever else is wrong with it.
var errForged = errors.New("the token was not signed by a key of its issuer")

// foreign are members of a header with which a token brings its own key, or changes what is signed.
var foreign = []string{"jwk", "jku", "x5u", "x5c", "crit", "b64", "zip", "enc"}

// issuerOf returns the claim iss of what looks like a JSON Web Token, before anything is checked.
func issuerOf(token string) (string, bool) {
	claims, _ := jwt.Claims(token)
	issuer, _ := claims.Text("iss")
	return issuer, issuer != ""
}

// headerOf returns how a token says that it was signed, if it was signed as issuers do.
func headerOf(token string) (algorithm, keyID string, ok bool) {
	h, _ := jwt.Header(token)
	algorithm, goodAlgorithm := h.Text("alg")
	keyID, goodKeyID := h.Text("kid")
	kind, goodKind := h.Text("typ")
	ok = goodAlgorithm && goodKeyID && keyID != "" && goodKind && (kind == "" || strings.EqualFold(kind, "JWT"))
	return algorithm, keyID, ok && !slices.ContainsFunc(foreign, h.Has)
}

// source is an issuer and its keys.
type source struct {
	Issuer
	keys *keyset.Set
}

// verify returns the payload of a token. The error is errForged, or comes from the set of keys.
func (s *source) verify(ctx context.Context, token string) ([]byte, error) {
	algorithm, keyID, ok := headerOf(token)
	if !ok {
		return nil, errForged
	}
	parsed, err := jose.ParseSignedCompact(token, s.Algorithms)
	if err != nil || parsed.Signatures[0].Header.KeyID != keyID || parsed.Signatures[0].Header.Algorithm != algorithm {
		return nil, errForged
	}
	keys, err := s.keys.Find(ctx, keyID)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if key.Algorithm != "" && key.Algorithm != algorithm {
			continue
		}
		if payload, err := parsed.Verify(key.Key); err == nil {
			return payload, nil
		}
	}
	return nil, errForged
}
