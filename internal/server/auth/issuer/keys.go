package issuer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"k8s.io/utils/clock"
)

var (
	errUnknownKey  = errors.New("the issuer has no such key")
	errManyWaiting = errors.New("as many tokens wait for the keys of the issuer as may")
	errMaybeNewKey = errors.New("the issuer had no such key a few seconds ago")
	errTooSoon     = errors.New("the keys of the issuer could not be read a few seconds ago")
	errOldKeys     = errors.New("the keys of the issuer could not be read for hours")
)

// keySet are the keys of an issuer. Known keys never wait for a request.
type keySet struct {
	read  func(context.Context) ([]jose.JSONWebKey, error) // asks the issuer
	clock clock.PassiveClock

	waiting chan struct{}

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	got     time.Time     // when they were asked for; zero: never successfully
	asked   time.Time     // when somebody last asked
	fault   error         // of that request; nil: it succeeded, or is under way
	running chan struct{} // closed when the request that is under way has ended; nil: none is
}

func newKeySet(c clock.PassiveClock, read func(context.Context) ([]jose.JSONWebKey, error)) *keySet {
	return &keySet{read: read, clock: c, waiting: make(chan struct{}, maxWaiting)}
}

// find returns the keys with an ID. The error is errUnknownKey if the issuer has none, and another one if it cannot be asked now.
func (s *keySet) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	known, age := s.known(id)
	if len(known) > 0 && age < keepFor {
		if age >= refreshAfter {
			s.fetch()
		}
		return known, nil
	}
	done := s.fetch()
	if done != nil {
		if err := s.wait(ctx, done); err != nil {
			return nil, err
		}
	}
	known, err := s.findAgain(id)
	if done == nil && errors.Is(err, errUnknownKey) {
		return nil, errMaybeNewKey
	}
	return known, err
}

func (s *keySet) findAgain(id string) ([]jose.JSONWebKey, error) {
	known, age := s.known(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(known) > 0 && age < keepFor:
		return known, nil
	case s.fault != nil:
		return nil, s.fault
	case s.got.IsZero():
		return nil, errTooSoon
	case age >= keepFor:
		return nil, errOldKeys
	default:
		return nil, errUnknownKey
	}
}

func (s *keySet) known(id string) (keys []jose.JSONWebKey, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.keys {
		if k.KeyID == id {
			keys = append(keys, k)
		}
	}
	return keys, s.clock.Since(s.got)
}

// fetch starts a request unless one is under way, or began a moment ago. It returns nil if there is none to wait for.
func (s *keySet) fetch() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return s.running
	}
	now := s.clock.Now()
	if !s.asked.IsZero() && now.Sub(s.asked) < fetchEvery {
		return nil
	}
	s.asked, s.running = now, make(chan struct{})
	go s.ask(now, s.running)
	return s.running
}

// ask belongs to no request, whose sender may leave. It keeps the known keys if others cannot be read.
func (s *keySet) ask(now time.Time, done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	keys, err := s.read(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault, s.running = err, nil; err == nil {
		s.keys, s.got = keys, now
	}
	close(done)
}

func (s *keySet) wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case s.waiting <- struct{}{}:
		defer func() { <-s.waiting }()
	default:
		return errManyWaiting
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
