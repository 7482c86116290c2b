package inputs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Store is a bucket.
type Store struct {
	options Options
	public  *minio.Client // signs for CI
	private *minio.Client // signs for pods, and asks the store
	health  *health
}

// New makes no connection.
func New(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	transport, err := transport(o.CA)
	if err != nil {
		return nil, err
	}
	source := newCredentials(o.CredentialsPath, time.Now)
	s := &Store{options: o, health: newHealth()}
	if s.private, err = newClient(o.Endpoint, o, source, transport); err != nil {
		return nil, err
	}
	if s.public, err = newClient(o.public(), o, source, transport); err != nil {
		return nil, err
	}
	return s, nil
}

func newClient(address string, o Options, source *credentials.Credentials, transport http.RoundTripper) (*minio.Client, error) {
	u, err := endpoint(address)
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupDNS
	if o.PathStyle {
		lookup = minio.BucketLookupPath
	}
	return minio.New(u.Host, &minio.Options{
		Creds:        source,
		Secure:       u.Scheme == "https",
		Region:       o.Region, // with a region the client never asks the store for one
		BucketLookup: lookup,
		Transport:    transport,
		MaxRetries:   askAttempts,
	})
}

func transport(ca []byte) (http.RoundTripper, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if len(ca) == 0 {
		return t, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("--store-ca-file: holds no certificate in PEM")
	}
	t.TLSClientConfig.RootCAs = pool
	return t, nil
}

// words are what an error says that concerns the store, without addresses, keys and signatures: the
// code of its answer, or what kind of answer is missing.
func words(err error) string {
	answer := minio.ToErrorResponse(err)
	switch {
	case answer.StatusCode >= http.StatusBadRequest && answer.Code != "":
		return fmt.Sprintf("it answered %d %s", answer.StatusCode, answer.Code)
	case answer.StatusCode >= http.StatusBadRequest:
		return fmt.Sprintf("it answered %d", answer.StatusCode)
	default:
		return connection(err)
	}
}
