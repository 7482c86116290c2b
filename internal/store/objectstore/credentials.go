package objectstore

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"k8s.io/utils/clock"
)

// credentialsError means that there are no credentials. Its text contains no secrets.
type credentialsError struct {
	text  string
	cause error
}

func (e *credentialsError) Error() string { return e.text }
func (e *credentialsError) Unwrap() error { return e.cause }

// newSource reads credentials from the path if there is one, else from the environment, else from the cloud (web identity or role).
func newSource(path string, clock clock.PassiveClock) credentials.Provider {
	if path != "" {
		return &fileProvider{path: path, clock: clock}
	}
	return &firstProvider{sources: []credentials.Provider{
		&credentials.EnvAWS{},
		&credentials.IAM{Client: &http.Client{Timeout: credentialsTimeout}},
	}}
}

// firstProvider uses the first source with credentials. The chain of minio-go falls back to anonymous requests and drops the reasons.
type firstProvider struct {
	sources []credentials.Provider
	chosen  credentials.Provider
}

func (f *firstProvider) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	var errs []error
	for _, source := range f.sources {
		v, err := source.RetrieveWithCredContext(cc)
		if err == nil && v.AccessKeyID != "" && v.SecretAccessKey != "" {
			f.chosen = source
			return v, nil
		}
		errs = append(errs, err)
	}
	return credentials.Value{}, &credentialsError{cause: errors.Join(errs...),
		text: "there are no credentials for it, neither in the environment nor from the cloud; set --store-credentials"}
}

func (f *firstProvider) Retrieve() (credentials.Value, error) { return f.RetrieveWithCredContext(nil) }
func (f *firstProvider) IsExpired() bool                      { return f.chosen == nil || f.chosen.IsExpired() }

// cachedProvider returns the old credentials until they expire if a renewal fails, and then pauses before it asks the source again.
type cachedProvider struct {
	source credentials.Provider
	clock  clock.PassiveClock

	mu        sync.Mutex
	value     credentials.Value
	err       error
	retrieved time.Time // when the source answered last, or failed
	notBefore time.Time // of the next attempt
}

func (c *cachedProvider) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	if now.Before(c.notBefore) {
		return c.cached(now)
	}
	value, err := c.source.RetrieveWithCredContext(cc)
	now = c.clock.Now() // the source may have taken all the time that it has
	c.retrieved = now
	if err != nil {
		c.err, c.notBefore = err, now.Add(c.pause(now))
		return c.cached(now)
	}
	c.value, c.err, c.notBefore = value, nil, time.Time{}
	return value, nil
}

// pause is longer while the old credentials are known to be valid, but ends with them.
func (c *cachedProvider) pause(now time.Time) time.Duration {
	return min(renewEvery, max(credentialsPause, c.value.Expiration.Sub(now)))
}

func (c *cachedProvider) cached(now time.Time) (credentials.Value, error) {
	if c.value.AccessKeyID != "" && !c.expired(now) {
		return c.value, nil
	}
	return credentials.Value{}, c.err
}

func (c *cachedProvider) expired(now time.Time) bool {
	return !c.value.Expiration.IsZero() && !now.Before(c.value.Expiration)
}

// renewable reports whether the source may have credentials that last longer.
func (c *cachedProvider) renewable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.Now().Sub(c.retrieved) >= renewEvery
}

func (c *cachedProvider) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

func (c *cachedProvider) IsExpired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	return c.expired(now) || !now.Before(c.notBefore) && c.source.IsExpired()
}
