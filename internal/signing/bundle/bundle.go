// Package bundle wraps a signature in a Sigstore bundle, and verifies one with public keys.
//
// Sigstore's own library verifies much more, such as certificates and logs, and doubles the size of the command line. Here is what a
// signature with a key needs; test/sigstore compares it with Sigstore's tools.
package bundle

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	bundlev1 "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	commonv1 "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	dssev1 "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	"google.golang.org/protobuf/encoding/protojson"
)

// MediaType is what a bundle says that it is.
const MediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// Hint names a public key in a bundle. It is made as sigstore-go makes it.
func Hint(public []byte) string {
	sum := sha256.Sum256(public)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Encode returns a bundle, as JSON, with a signature of the DSSE encoding of a payload.
func Encode(payloadType string, payload, signature []byte, hint string) ([]byte, error) {
	return protojson.Marshal(&bundlev1.Bundle{
		MediaType: MediaType,
		VerificationMaterial: &bundlev1.VerificationMaterial{
			Content: &bundlev1.VerificationMaterial_PublicKey{PublicKey: &commonv1.PublicKeyIdentifier{Hint: hint}},
		},
		Content: &bundlev1.Bundle_DsseEnvelope{DsseEnvelope: &dssev1.Envelope{
			Payload: payload, PayloadType: payloadType, Signatures: []*dssev1.Signature{{Sig: signature}},
		}},
	})
}

// EncodePublic returns an allowed public key in DER.
func EncodePublic(public crypto.PublicKey) ([]byte, error) {
	switch k := public.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() {
			return nil, fmt.Errorf("has an ECDSA key of the curve %s, not P-256", k.Curve.Params().Name)
		}
	default:
		return nil, errors.New("has a key that is neither ECDSA P-256 nor Ed25519")
	}
	return x509.MarshalPKIXPublicKey(public)
}

// Keys are public keys that are trusted.
type Keys []crypto.PublicKey

const maxKeys = 16 // bounds the keys of a file: twice as many as an installation publishes

// ParseKeys reads public keys in PEM, such as an installation publishes them.
func ParseKeys(text []byte) (keys Keys, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "PUBLIC KEY" {
			return nil, fmt.Errorf("has a block %q, not PUBLIC KEY", block.Type)
		}
		public, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, errors.New("has a public key that cannot be read")
		}
		if _, err := EncodePublic(public); err != nil {
			return nil, err
		}
		if keys = append(keys, public); len(keys) > maxKeys {
			return nil, fmt.Errorf("has more than %d keys", maxKeys)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("has no public key in PEM, which begins with -----BEGIN PUBLIC KEY-----")
	}
	return keys, nil
}

// ErrSignature means that none of the keys signed a bundle as it is now.
var ErrSignature = errors.New("the signature is by none of the keys, or what they signed was changed")

// Unverified returns what a bundle says was signed. Anyone may have written it.
func Unverified(content []byte, payloadType string) (payload []byte, err error) {
	signed, err := decode(content, payloadType)
	return signed.GetPayload(), err
}

func decode(content []byte, payloadType string) (*dssev1.Envelope, error) {
	var b bundlev1.Bundle
	if err := protojson.Unmarshal(content, &b); err != nil {
		return nil, errors.New("it is no Sigstore bundle, which is a JSON object with a mediaType and a dsseEnvelope")
	}
	signed := b.GetDsseEnvelope()
	switch {
	case b.GetMediaType() != MediaType:
		return nil, fmt.Errorf("its media type is %q, and only %q is verified", b.GetMediaType(), MediaType)
	case signed == nil || b.GetVerificationMaterial().GetPublicKey() == nil:
		return nil, errors.New("it has no envelope that was signed with a key. Signatures with certificates are not verified")
	case len(signed.GetSignatures()) != 1:
		return nil, fmt.Errorf("it has %d signatures, and a bundle has one", len(signed.GetSignatures()))
	case signed.GetPayloadType() != payloadType:
		return nil, fmt.Errorf("what was signed is of the type %q, not %q", signed.GetPayloadType(), payloadType)
	}
	return signed, nil
}

// Verify returns what was signed.
func (k Keys) Verify(content []byte, payloadType string) (payload []byte, err error) {
	signed, err := decode(content, payloadType)
	if err != nil {
		return nil, err
	}
	envelope := &dsse.Envelope{
		PayloadType: payloadType, Payload: base64.StdEncoding.EncodeToString(signed.GetPayload()),
		Signatures: []dsse.Signature{{Sig: base64.StdEncoding.EncodeToString(signed.GetSignatures()[0].GetSig())}},
	}
	for _, key := range k { // the hint is not signed, so it decides nothing
		verifier, err := dsse.NewEnvelopeVerifier(verifier{key})
		if err != nil {
			return nil, err
		}
		if _, payload, err := verifier.VerifyAndDecode(context.Background(), envelope); err == nil {
			return payload, nil
		}
	}
	return nil, ErrSignature
}

// verifier is the dsse.Verifier of a key.
type verifier struct{ key crypto.PublicKey }

func (v verifier) KeyID() (string, error)   { return "", nil }
func (v verifier) Public() crypto.PublicKey { return v.key }

func (v verifier) Verify(_ context.Context, data, signature []byte) error {
	sum := sha256.Sum256(data)
	valid := false
	switch k := v.key.(type) {
	case ed25519.PublicKey:
		valid = ed25519.Verify(k, data, signature)
	case *ecdsa.PublicKey:
		valid = ecdsa.VerifyASN1(k, sum[:], signature)
	}
	if !valid {
		return ErrSignature
	}
	return nil
}
