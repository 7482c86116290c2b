package pages

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
	"net/http"
)

var errSeal = errors.New("it was not sealed here, or for another purpose")

// sealer encrypts and signs values, so that a browser can keep them and neither read nor change them.
type sealer struct {
	secret []byte // from which both keys are made
	aead   cipher.AEAD
	nonce  []byte // the key from which nonces are made
}

// seal makes a text of a value. The nonce is a function of both, so that the same page has the same links.
func (u *UI) seal(ctx context.Context, purpose string, value any) (string, error) {
	s, err := u.sealer(ctx)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, s.nonce)
	mac.Write([]byte(purpose + "\x00"))
	mac.Write(plain)
	nonce := mac.Sum(nil)[:s.aead.NonceSize()]
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, plain, []byte(purpose))), nil
}

// unseal reverses seal.
func (u *UI) unseal(ctx context.Context, purpose, text string, value any) error {
	s, err := u.sealer(ctx)
	if err != nil {
		return err
	}
	size := s.aead.NonceSize()
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(sealed) < size {
		return errSeal
	}
	plain, err := s.aead.Open(nil, sealed[:size], sealed[size:], []byte(purpose))
	if err != nil {
		return errSeal
	}
	return json.Unmarshal(plain, value)
}

func (u *UI) sealer(ctx context.Context) (*sealer, error) {
	secret, err := u.SealingKey(ctx)
	if err != nil {
		return nil, &problem{Status: http.StatusServiceUnavailable, Title: "Signing in is not possible right now",
			Text: "The secret that protects sessions cannot be read. Try again in a minute.", cause: err}
	}
	if s := u.lastSealer.Load(); s != nil && bytes.Equal(s.secret, secret) {
		return s, nil
	}
	keys, err := hkdf.Key(sha256.New, secret, nil, "postflight pages", 64)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(keys[:32])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	s := &sealer{secret, aead, keys[32:]}
	u.lastSealer.Store(s)
	return s, nil
}
