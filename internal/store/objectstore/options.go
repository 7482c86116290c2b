package objectstore

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Options configure the store and the access to it.
type Options struct {
	// Endpoint is for the manager and pods, PublicEndpoint for CI; it defaults to Endpoint. Both are http(s) URLs without a path.
	Endpoint, PublicEndpoint string

	Region          string // part of every signature; never looked up
	Bucket          string
	PathStyle       bool          // puts the bucket into the path, not into the host
	CA              []byte        // authorities of the store's TLS, in PEM; empty: the system's
	CredentialsPath string        // a file, or a folder such as a mounted Secret; empty: the environment, then the cloud's own source
	UploadLifetime  time.Duration // how long a URL for an upload is valid
}

// Validate names the flag of every option that is wrong.
func (o Options) Validate() error {
	var errs []error
	if o.Bucket == "" {
		errs = append(errs, errors.New("--store-bucket must be given for a store"))
	}
	if o.Region == "" {
		errs = append(errs, errors.New("--store-region must be given: it is part of every signature"))
	}
	if _, err := endpoint(o.Endpoint); err != nil {
		errs = append(errs, fmt.Errorf("--store-endpoint: %w", err))
	}
	if _, err := endpoint(o.public()); err != nil {
		errs = append(errs, fmt.Errorf("--store-public-endpoint: %w", err))
	}
	if o.UploadLifetime < MinLifetime || o.UploadLifetime > MaxLifetime {
		errs = append(errs, fmt.Errorf("--signed-url-lifetime %s: must be from %s to %s", o.UploadLifetime, MinLifetime, MaxLifetime))
	}
	return errors.Join(errs...)
}

func (o Options) public() string { return cmp.Or(o.PublicEndpoint, o.Endpoint) }

// endpoint never quotes the text: a URL may hold a password.
func endpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, errors.New("must be an http or https URL, e.g. https://s3.example.com")
	case u.User != nil:
		return nil, errors.New("must not hold a user or a password")
	case (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must have no path and no query")
	}
	return u, nil
}
