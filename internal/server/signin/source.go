package signin

import (
	"context"
	"crypto/sha256"
	"os"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// pollEvery is how often the file is read: a change counts within a second, whatever way the file changes.
const pollEvery = 250 * time.Millisecond

// Setting says who may sign in at the moment, and how.
type Setting struct {
	*Config
	Provider *OIDC // nil without one
}

// Source follows the file that says who may sign in, once Source is started. The zero Source lets no user in.
type Source struct {
	Log logr.Logger

	path    string
	accept  func(*Config) error
	current atomic.Pointer[Setting]
	invalid atomic.Bool

	fingerprint [sha256.Size]byte // of what the current Setting was made from
	problem     string            // with what the file says now; empty if there is none
}

// NewSource reads the file of the path, if there is one, and rejects what accept returns an error for.
func NewSource(path string, accept func(*Config) error) (*Source, error) {
	s := &Source{path: path, accept: accept}
	if path == "" {
		return s, nil
	}
	_, err := s.reload()
	return s, err
}

// setting is the Setting of the last good file.
func (s *Source) setting() *Setting {
	if now := s.current.Load(); now != nil {
		return now
	}
	return &Setting{Config: &Config{}}
}

// Valid reports whether the file could be used when it was last read.
func (s *Source) Valid() bool { return !s.invalid.Load() }

// Register adds a metric, by which operators notice an unusable file.
func (s *Source) Register(metrics prometheus.Registerer) error {
	return metrics.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "postflight_sign_in_config_valid",
		Help: "Whether the manager could use the file of --sign-in-config when it last read it; 0: what the file said before still counts.",
	}, func() float64 {
		if s.invalid.Load() {
			return 0
		}
		return 1
	}))
}

// NeedLeaderElection is false: people sign in at every replica.
func (s *Source) NeedLeaderElection() bool { return false }

// Start follows the file until the context ends. An unusable file changes nothing.
func (s *Source) Start(ctx context.Context) error {
	if s.path == "" {
		return nil
	}
	log := s.Log.WithValues("file", s.path)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		before := s.problem
		changed, err := s.reload()
		switch {
		case err != nil && s.problem != before:
			log.Error(err, "the file that says who may sign in cannot be used; what it said before still counts")
		case changed:
			log.Info("the file that says who may sign in has changed")
		}
	}
}

// reload reads the file if it has changed, or was unusable the last time.
func (s *Source) reload() (changed bool, err error) {
	now := s.look()
	if s.problem == "" && now == s.fingerprint {
		return false, nil
	}
	c, err := load(s.path)
	if err == nil {
		err = s.accept(c)
	}
	if s.invalid.Store(err != nil); err != nil {
		s.problem = err.Error()
		return false, err
	}
	s.problem = ""
	s.current.Store(s.setting().next(c))
	s.fingerprint = s.look()
	return true, nil
}

// look returns a hash of the file, and of the secret that it names.
func (s *Source) look() [sha256.Size]byte {
	content, _ := os.ReadFile(s.path) // a file that is missing has changed, and load says why
	if c := s.setting().OIDC; c != nil && c.ClientSecretFile != "" {
		secret, _ := os.ReadFile(c.ClientSecretFile)
		content = append(append(content, 0), secret...)
	}
	return sha256.Sum256(content)
}

// next keeps the client of an unchanged provider, with what that has learned.
func (s *Setting) next(c *Config) *Setting {
	switch {
	case c.OIDC == nil:
		return &Setting{Config: c}
	case s.Provider != nil && reflect.DeepEqual(s.Provider.Config, *c.OIDC):
		return &Setting{c, s.Provider}
	default:
		return &Setting{c, newOIDC(*c.OIDC)}
	}
}
