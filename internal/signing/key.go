package signing

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"github.com/postflight-dev/postflight/internal/signing/bundle"
)

const (
	maxKeys = 8        // bounds the files: the key that signs, and those whose signatures are still verified
	maxFile = 16 << 10 // bounds a file, in bytes: a key of an allowed kind has less than 300
)

// key is a pair of keys, or a public key alone.
type key struct {
	private crypto.Signer // nil: it only verifies
	public  []byte        // DER, as in a certificate
}

func (k key) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.public})
}

// sign signs as verifiers of DSSE expect it: ECDSA signs a hash, and Ed25519 the message.
func (k key) sign(message []byte) ([]byte, error) {
	if _, ok := k.private.(ed25519.PrivateKey); ok {
		return k.private.Sign(rand.Reader, message, crypto.Hash(0))
	}
	sum := sha256.Sum256(message)
	return k.private.Sign(rand.Reader, sum[:], crypto.SHA256)
}

const generate = `Make a key with "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"`

func readKey(file string) (key, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return key{}, err
	case info.Size() > maxFile:
		return key{}, fmt.Errorf("%s has %d bytes, and a key has less than %d. %s", file, info.Size(), maxFile, generate)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return key{}, err
	}
	k, err := parseKey(content)
	if err != nil {
		return key{}, fmt.Errorf("%s %w. %s", file, err, generate)
	}
	return k, nil
}

// parseKey never quotes the content: it is a secret, even if it is malformed.
func parseKey(content []byte) (key, error) {
	block, _ := pem.Decode(content)
	if block == nil {
		return key{}, errors.New("has no key in PEM")
	}
	switch block.Type {
	case "PRIVATE KEY":
		private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return key{}, errors.New("has no PKCS #8 key that can be read")
		}
		signer, ok := private.(crypto.Signer)
		if !ok {
			return key{}, errors.New("has a key that cannot sign")
		}
		public, err := bundle.EncodePublic(signer.Public())
		return key{signer, public}, err
	case "PUBLIC KEY":
		public, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return key{}, errors.New("has no public key that can be read")
		}
		encoded, err := bundle.EncodePublic(public)
		return key{nil, encoded}, err
	default:
		return key{}, fmt.Errorf("has a block %q, not PRIVATE KEY, which is PKCS #8 without a password, or PUBLIC KEY", block.Type)
	}
}
