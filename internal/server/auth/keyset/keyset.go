// Package keyset keeps the public keys of a server that signs tokens, and asks for newer ones. Tokens that name unknown keys cannot make it
// ask more often than is configured.
package keyset

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// These errors say why a key is not found. Others say that no keys can be used, because their server could not be asked.
var (
	// ErrUnknown means that the server has no such key.
	ErrUnknown = errors.New("the issuer has no such key")
	// ErrUnclear means that there are usable keys, and that a newer one may have the ID. Anybody can send tokens for which it is returned.
	ErrUnclear = errors.New("the token names a key that its issuer has not published, or not yet")
)

var (
	errTooSoon     = errors.New("its keys were asked for before the token came")
	errManyWaiting = errors.New("as many tokens wait for the keys of the issuer as may")
)

// reportEvery is the least pause between lines in the log that keys cannot be read: as long as an operator may take to look.
const reportEvery = 10 * time.Minute

// Config says whose keys they are, and how long they count.
type Config struct {
	Read  func(context.Context) ([]jose.JSONWebKey, error) // asks the server. It returns a key, or an error.
	Clock clock.PassiveClock                               // measures pauses

	Every   time.Duration // the least pause between requests to the server, whatever tokens come
	Timeout time.Duration // of a request

	RefreshAfter time.Duration // how long keys are used before they are fetched again; 0: until a token names another one
	KeepFor      time.Duration // how long keys work while the server is unavailable; 0: for ever
	Waiting      int           // how many tokens wait for a request that another one has caused

	Log logr.Logger // is told in a while that keys cannot be read
}

// Set are the keys of a server. Known keys never wait for a request.
type Set struct {
	Config
	waiting chan struct{}

	mu       sync.Mutex
	keys     []jose.JSONWebKey
	got      time.Time     // when they were asked for; zero: never successfully
	asked    time.Time     // when the last request began
	fault    error         // of that request; nil: it succeeded, or is under way
	running  chan struct{} // closed when the request that is under way has ended; nil: none is
	reported time.Time     // when the log was last told of a fault
	failing  bool          // the log was told of a fault, and not of its end
}

// New returns a Set without keys.
func New(c Config) *Set { return &Set{Config: c, waiting: make(chan struct{}, c.Waiting)} }

// Find returns the keys with an ID.
func (s *Set) Find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	known, _ := s.known(id)
	if len(known) > 0 {
		return known, nil
	}
	problem := s.refresh(ctx)
	known, usable := s.known(id)
	switch {
	case len(known) > 0:
		return known, nil
	case problem == nil:
		return nil, ErrUnknown
	case usable:
		return nil, fmt.Errorf("%w: %w", ErrUnclear, problem)
	default:
		return nil, problem
	}
}

// known returns the keys with an ID, and whether there are any that can be used. It has old ones fetched again.
func (s *Set) known(id string) (keys []jose.JSONWebKey, usable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := s.Clock.Since(s.got)
	if s.got.IsZero() || s.KeepFor > 0 && age >= s.KeepFor {
		return nil, false
	}
	for _, k := range s.keys {
		if k.KeyID == id {
			keys = append(keys, k)
		}
	}
	if len(keys) > 0 && s.RefreshAfter > 0 && age >= s.RefreshAfter {
		s.fetchLocked()
	}
	return keys, true
}

// refresh returns nil if the keys were read since it was called.
func (s *Set) refresh(ctx context.Context) error {
	done, first := s.fetch()
	if done != nil {
		if err := s.wait(ctx, done, first); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !first && s.fault == nil {
		return errTooSoon
	}
	return s.fault
}

// fetch starts a request unless one is under way, or began a moment ago. It returns nil if there is none to wait for, and whether this is
// the first to wait.
func (s *Set) fetch() (done <-chan struct{}, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetchLocked()
}

func (s *Set) fetchLocked() (done <-chan struct{}, first bool) {
	if s.running != nil {
		return s.running, false
	}
	now := s.Clock.Now()
	if !s.asked.IsZero() && now.Sub(s.asked) < s.Every {
		return nil, false
	}
	s.asked, s.running = now, make(chan struct{})
	go s.ask(now, s.running)
	return s.running, true
}

// ask belongs to no token, whose sender may leave. It keeps the known keys if others cannot be read.
func (s *Set) ask(now time.Time, done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), s.Timeout)
	defer cancel()
	keys, err := s.Read(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault, s.running = err, nil; err == nil {
		s.keys, s.got = keys, now
	}
	s.report(now)
	close(done)
}

// report tells the log of a fault once in a while, however many requests fail, and of its end.
func (s *Set) report(now time.Time) {
	switch {
	case s.fault != nil && (s.reported.IsZero() || now.Sub(s.reported) >= reportEvery):
		s.reported, s.failing = now, true
		s.Log.Info("the keys of an issuer of tokens cannot be read", "cause", s.fault.Error())
	case s.fault == nil && s.failing:
		s.failing = false
		s.Log.Info("the keys of an issuer of tokens can be read again")
	}
}

func (s *Set) wait(ctx context.Context, done <-chan struct{}, first bool) error {
	if !first {
		select {
		case s.waiting <- struct{}{}:
			defer func() { <-s.waiting }()
		default:
			return errManyWaiting
		}
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Idle waits for the request that is under way, if there is one.
func (s *Set) Idle() {
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	if running != nil {
		<-running
	}
}
