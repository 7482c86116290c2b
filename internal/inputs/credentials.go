package inputs

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// credentialsError says that there are no credentials, in words that hold none.
type credentialsError struct {
	words string
	cause error
}

func (e *credentialsError) Error() string { return e.words }
func (e *credentialsError) Unwrap() error { return e.cause }

// newCredentials takes them from a path if there is one, else from the environment, else from the
// cloud: a web identity token, a container's or a machine's own role.
func newCredentials(path string, now func() time.Time) *credentials.Credentials {
	var source credentials.Provider = &first{sources: []credentials.Provider{
		&credentials.EnvAWS{},
		&credentials.IAM{Client: &http.Client{Timeout: credentialsTimeout}},
	}}
	if path != "" {
		source = &files{path: path, now: now}
	}
	return credentials.New(&steady{source: source, now: now})
}

// first is the first source that has credentials. The chain of the library makes anonymous ones of
// none, and forgets why there are none.
type first struct {
	sources []credentials.Provider
	chosen  credentials.Provider
}

func (f *first) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
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
		words: "there are no credentials for it, neither in the environment nor from the cloud; set --store-credentials"}
}

func (f *first) Retrieve() (credentials.Value, error) { return f.RetrieveWithCredContext(nil) }

func (f *first) IsExpired() bool { return f.chosen == nil || f.chosen.IsExpired() }

// steady gets over a source that fails. Sources renew credentials well before these expire: until
// then the old ones are used. A failing source is not asked by every request.
type steady struct {
	source credentials.Provider
	now    func() time.Time

	mu    sync.Mutex
	value credentials.Value
	err   error
	again time.Time // not before this
}

func (s *steady) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Before(s.again) {
		return s.answer()
	}
	value, err := s.source.RetrieveWithCredContext(cc)
	if err != nil {
		s.err, s.again = err, s.now().Add(credentialsPause)
		return s.answer()
	}
	s.value, s.err, s.again = value, nil, time.Time{}
	return value, nil
}

func (s *steady) answer() (credentials.Value, error) {
	if s.value.AccessKeyID != "" && (s.value.Expiration.IsZero() || s.now().Before(s.value.Expiration)) {
		return s.value, nil
	}
	return credentials.Value{}, s.err
}

// Retrieve is what old callers use.
func (s *steady) Retrieve() (credentials.Value, error) { return s.RetrieveWithCredContext(nil) }

// IsExpired asks for a renewal.
func (s *steady) IsExpired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil || s.source.IsExpired()
}
