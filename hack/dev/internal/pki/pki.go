// Package pki makes the certificates of a development cluster: authorities, which are kept, and others, new at every start.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

const validity = 10 * 365 * 24 * time.Hour

// Authority signs certificates. It is kept as DIR/NAME.crt and DIR/NAME.key.
type Authority struct {
	dir, name string
	tls.Certificate
}

// Identity is what a certificate says about its holder.
type Identity struct {
	User   string   // common name
	Groups []string // organizations
	Hosts  []string // addresses and names, if the certificate is for a server too
}

// LoadAuthority reads the authority below dir, or creates it.
func LoadAuthority(dir, name string) (*Authority, error) {
	a := &Authority{dir: dir, name: name}
	err := a.read()
	if !errors.Is(err, fs.ErrNotExist) {
		return a, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	template := template(Identity{User: "postflight-dev " + name})
	template.IsCA = true
	template.ExtKeyUsage = nil // it would limit all certificates that the authority signs
	template.KeyUsage |= x509.KeyUsageCertSign
	if err := a.issue(name, template); err != nil {
		return nil, err
	}
	return a, a.read()
}

func (a *Authority) read() (err error) {
	a.Certificate, err = tls.LoadX509KeyPair(a.file(a.name+".crt"), a.file(a.name+".key"))
	return err
}

func (a *Authority) file(name string) string { return filepath.Join(a.dir, name) }

// Issue writes DIR/FILE.crt and DIR/FILE.key.
func (a *Authority) Issue(file string, who Identity) error { return a.issue(file, template(who)) }

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
	parent, signer := a.Leaf, a.PrivateKey
	if cert.IsCA {
		parent, signer = cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, key.Public(), signer)
	if err != nil {
		return err
	}
	return errors.Join(writeKey(a.file(file+".key"), key), write(a.file(file+".crt"), "CERTIFICATE", der))
}

// KeyPair makes a key pair that signs, once: what it has signed outlives a restart.
func KeyPair(dir, name string) error {
	public := filepath.Join(dir, name+".pub")
	if _, err := os.Stat(public); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writeKey(filepath.Join(dir, name+".key"), key); err != nil {
		return err
	}
	return write(public, "PUBLIC KEY", der)
}

func writeKey(path string, key crypto.Signer) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return write(path, "PRIVATE KEY", der)
}

func write(path, kind string, der []byte) error {
	if err := layout.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("writing a certificate or key: %w", err)
	}
	return nil
}

// WriteKubeconfig writes a kubeconfig with the credentials of DIR/FILE.crt, so that it may be copied. JSON is YAML.
func (a *Authority) WriteKubeconfig(path, server, file string) error {
	contents := map[string][]byte{} // encoding/json writes bytes in base64, as a kubeconfig wants them
	for _, name := range []string{a.name + ".crt", file + ".crt", file + ".key"} {
		content, err := os.ReadFile(a.file(name))
		if err != nil {
			return err
		}
		contents[name] = content
	}
	const cluster = "postflight-dev"
	type object = map[string]any
	text, err := json.MarshalIndent(object{
		"apiVersion": "v1",
		"kind":       "Config",
		"clusters": []object{{"name": cluster, "cluster": object{
			"server": server, "certificate-authority-data": contents[a.name+".crt"]}}},
		"users": []object{{"name": file, "user": object{
			"client-certificate-data": contents[file+".crt"], "client-key-data": contents[file+".key"]}}},
		"contexts":        []object{{"name": cluster, "context": object{"cluster": cluster, "user": file}}},
		"current-context": cluster,
	}, "", "  ")
	if err != nil {
		return err
	}
	return layout.WriteFile(path, text, 0o600)
}
