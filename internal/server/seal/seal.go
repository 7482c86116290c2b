// Package seal encrypts and signs values that a client keeps and must neither read nor change: cookies, links and wait tokens.
package seal

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync/atomic"
)

// ErrSeal means that a text was not sealed with the key, or for another purpose.
var ErrSeal = errors.New("it was not sealed here, or for another purpose")

// Sealer seals values with a secret that may change.
type Sealer struct {
	// Secret returns the secret, the same in every replica.
	Secret func(context.Context) ([]byte, error)

	last atomic.Pointer[keys]
}

type keys struct {
	secret []byte // from which both keys are derived
	aead   cipher.AEAD
	nonce  []byte // the key of nonces
}

// Seal encrypts a value. The nonce is derived from it and the purpose, so that the same page has the same links.
func (s *Sealer) Seal(ctx context.Context, purpose string, value any) (string, error) {
	k, err := s.keys(ctx)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, k.nonce)
	mac.Write([]byte(purpose + "\x00"))
	mac.Write(plain)
	nonce := mac.Sum(nil)[:k.aead.NonceSize()]
	return base64.RawURLEncoding.EncodeToString(k.aead.Seal(nonce, nonce, plain, []byte(purpose))), nil
}

// Unseal reverses Seal.
func (s *Sealer) Unseal(ctx context.Context, purpose, text string, value any) error {
	k, err := s.keys(ctx)
	if err != nil {
		return err
	}
	size := k.aead.NonceSize()
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(sealed) < size {
		return ErrSeal
	}
	plain, err := k.aead.Open(nil, sealed[:size], sealed[size:], []byte(purpose))
	if err != nil {
		return ErrSeal
	}
	return json.Unmarshal(plain, value)
}

func (s *Sealer) keys(ctx context.Context) (*keys, error) {
	secret, err := s.Secret(ctx)
	if err != nil {
		return nil, err
	}
	if k := s.last.Load(); k != nil && bytes.Equal(k.secret, secret) {
		return k, nil
	}
	derived, err := hkdf.Key(sha256.New, secret, nil, "postflight pages", 64)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived[:32])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	k := &keys{secret, aead, derived[32:]}
	s.last.Store(k)
	return k, nil
}
