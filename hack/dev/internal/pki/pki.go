// Package pki makes the certificates of a development cluster: an authority that is kept, and leaf
// certificates made anew at every start, because addresses and ports may have changed.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const validity = 10 * 365 * 24 * time.Hour

// Authority signs certificates. It is kept as DIR/NAME.crt and DIR/NAME.key.
type Authority struct {
	dir, name string
	cert      *x509.Certificate
	key       crypto.Signer
}

// Identity is whom a certificate names.
type Identity struct {
	User   string   // common name
	Groups []string // organizations
	Hosts  []string // addresses and names; a certificate with hosts also serves
}

// LoadAuthority reads the authority below dir, or makes it.
func LoadAuthority(dir, name string) (*Authority, error) {
	a := &Authority{dir: dir, name: name}
	err := a.read()
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return a, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	template := template(Identity{User: "postflight-dev " + name})
	template.IsCA = true
	template.ExtKeyUsage = nil // on an authority they would limit all that it signs
	template.KeyUsage |= x509.KeyUsageCertSign
	if err := a.issue(name, template); err != nil {
		return nil, err
	}
	return a, a.read()
}

func (a *Authority) read() error {
	certPEM, err := os.ReadFile(a.CertFile())
	if err != nil {
		return err
	}
	keyPEM, err := os.ReadFile(filepath.Join(a.dir, a.name+".key"))
	if err != nil {
		return err
	}
	a.cert, err = parse(certPEM, x509.ParseCertificate)
	if err != nil {
		return err
	}
	key, err := parse(keyPEM, x509.ParsePKCS8PrivateKey)
	if err != nil {
		return err
	}
	a.key = key.(crypto.Signer)
	return nil
}

func parse[T any](content []byte, decode func([]byte) (T, error)) (T, error) {
	block, _ := pem.Decode(content)
	if block == nil {
		var none T
		return none, errors.New("no PEM block")
	}
	return decode(block.Bytes)
}

// CertFile is the authority's own certificate.
func (a *Authority) CertFile() string { return filepath.Join(a.dir, a.name+".crt") }

// Issue writes DIR/FILE.crt and DIR/FILE.key.
func (a *Authority) Issue(file string, who Identity) error {
	return a.issue(file, template(who))
}

func template(who Identity) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	cert := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: who.User, Organization: who.Groups},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(validity),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	if len(who.Hosts) > 0 {
		cert.ExtKeyUsage = append(cert.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range who.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else {
			cert.DNSNames = append(cert.DNSNames, host)
		}
	}
	return cert
}

func (a *Authority) issue(file string, cert *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	parent, signer := a.cert, a.key
	if cert.IsCA {
		parent, signer = cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, key.Public(), signer)
	if err != nil {
		return err
	}
	if err := writeKey(filepath.Join(a.dir, file+".key"), key); err != nil {
		return err
	}
	return write(filepath.Join(a.dir, file+".crt"), "CERTIFICATE", der)
}

// ServiceAccountKey makes the key pair that signs service-account tokens, once: tokens outlive a
// restart. It returns the private and the public key's file.
func ServiceAccountKey(dir string) (private, public string, err error) {
	private, public = filepath.Join(dir, "sa.key"), filepath.Join(dir, "sa.pub")
	if _, err := os.Stat(public); err == nil {
		return private, public, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return "", "", err
	}
	if err := writeKey(private, key); err != nil {
		return "", "", err
	}
	return private, public, write(public, "PUBLIC KEY", der)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return write(path, "PRIVATE KEY", der)
}

// write replaces the file whole, so that a kill in between leaves the old one or the new one.
func write(path, kind string, der []byte) error {
	content := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return fmt.Errorf("writing a certificate or key: %w", err)
	}
	return os.Rename(temporary, path)
}
