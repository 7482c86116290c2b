package objectstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"k8s.io/utils/clock"
)

// Bucket is a bucket of an S3 store.
type Bucket struct {
	options Options
	public  *minio.Client // signs for CI and people
	private *minio.Client // signs for pods, and sends the manager's own requests
	health  *health

	credentials *credentials.Credentials
	cached      *cachedProvider // of the credentials
	clock       clock.PassiveClock
}

// New returns a Bucket. It opens no connection.
func New(o Options) (*Bucket, error) {
	return newBucket(o, newSource(o.CredentialsPath, clock.RealClock{}))
}

func newBucket(o Options, source credentials.Provider) (*Bucket, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	transport, err := transport(o.CA)
	if err != nil {
		return nil, err
	}
	cached := &cachedProvider{source: source, clock: clock.RealClock{}}
	b := &Bucket{options: o, health: newHealth(), credentials: credentials.New(cached), cached: cached, clock: cached.clock}
	if b.private, err = newClient(o.Endpoint, o, b.credentials, transport); err != nil {
		return nil, err
	}
	if b.public, err = newClient(o.public(), o, b.credentials, transport); err != nil {
		return nil, err
	}
	return b, nil
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
