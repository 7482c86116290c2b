package issuer

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// errForged is the answer to a token whose signature is not that of a key of its issuer, whatever is wrong with it.
var errForged = errors.New("the token was not signed by a key of its issuer")

// header is that of a token. Its members are compared by their exact names, and no name may come twice.
type header struct {
	Algorithm jose.SignatureAlgorithm `json:"alg"`
	KeyID     string                  `json:"kid"`
	Type      string                  `json:"typ"`
}

// foreign are members with which a token brings its own key, or changes what is signed.
var foreign = []string{"jwk", "jku", "x5u", "x5c", "crit", "b64", "zip", "enc"}

// issuerOf returns the claim iss of what looks like a JSON Web Token, before anything is checked.
func issuerOf(token string) (string, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", false
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	ok := decode(parts[1], &claims)
	return claims.Issuer, ok && claims.Issuer != ""
}

func decode(part string, into any) bool {
	content, err := base64.RawURLEncoding.Strict().DecodeString(part)
	return err == nil && json.UnmarshalRead(bytes.NewReader(content), into) == nil
}

func headerOf(token string) (h header, ok bool) {
	part, _, _ := strings.Cut(token, ".")
	var members map[string]jsontext.Value
	if !decode(part, &h) || !decode(part, &members) || h.KeyID == "" || h.Type != "" && !strings.EqualFold(h.Type, "JWT") {
		return h, false
	}
	for _, name := range foreign {
		if _, found := members[name]; found {
			return h, false
		}
	}
	return h, true
}

// source is an issuer and its keys.
type source struct {
	Issuer
	keys *keySet
}

// verify returns the payload of a token. The error is errForged, or of keys.find.
func (s *source) verify(ctx context.Context, token string) ([]byte, error) {
	h, ok := headerOf(token)
	if !ok {
		return nil, errForged
	}
	parsed, err := jose.ParseSignedCompact(token, s.Algorithms)
	if err != nil || parsed.Signatures[0].Header.KeyID != h.KeyID || parsed.Signatures[0].Header.Algorithm != string(h.Algorithm) {
		return nil, errForged
	}
	keys, err := s.keys.find(ctx, h.KeyID)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if key.Algorithm != "" && key.Algorithm != string(h.Algorithm) {
			continue
		}
		if payload, err := parsed.Verify(key.Key); err == nil {
			return payload, nil
		}
	}
	return nil, errForged
}
