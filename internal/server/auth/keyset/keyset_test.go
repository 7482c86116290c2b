package keyset

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-logr/logr/funcr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/postflight-dev/postflight/test/poll"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

const (
	every   = 10 * time.Second
	refresh = 15 * time.Minute
	keep    = 6 * time.Hour
	waiting = 8
)

func key(t *testing.T, id string) jose.JSONWebKey {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{KeyID: id, Key: public}
}

// server has keys, and a Set that asks it for them.
type server struct {
	*Set
	clock *clocktesting.FakePassiveClock
	keys  []jose.JSONWebKey
	down  error
	asked int
	log   []string
}

func newServer(t *testing.T, change ...func(*Config)) *server {
	t.Helper()
	s := &server{clock: clocktesting.NewFakePassiveClock(noon), keys: []jose.JSONWebKey{key(t, "a")}}
	c := Config{
		Read: func(context.Context) ([]jose.JSONWebKey, error) {
			s.asked++
			return s.keys, s.down
		},
		Clock: s.clock, Every: every, Timeout: time.Minute, RefreshAfter: refresh, KeepFor: keep, Waiting: waiting,
		Log: funcr.New(func(_, line string) { s.log = append(s.log, line) }, funcr.Options{}),
	}
	for _, f := range change {
		f(&c)
	}
	s.Set = New(c)
	return s
}

func (s *server) pass(d time.Duration) { s.clock.SetTime(s.clock.Now().Add(d)) }

var errDown = errors.New("down")

func TestFind(t *testing.T) {
	type step struct {
		after time.Duration
		down  bool
		keys  string // of the server
		find  string
		want  error
		asked int // in all
	}
	for name, tc := range map[string]struct {
		change func(*Config)
		steps  []step
	}{
		"known": {steps: []step{{0, false, "a", "a", nil, 1}, {every, false, "a", "a", nil, 1}}},
		"unknown at first": {steps: []step{{0, false, "a", "b", ErrUnknown, 1}, {0, false, "a", "b", ErrUnclear, 1},
			{every, false, "a", "b", ErrUnknown, 2}}},
		"a new key": {steps: []step{{0, false, "a", "a", nil, 1}, {0, false, "ab", "b", ErrUnclear, 1},
			{every, false, "ab", "b", nil, 2}, {0, false, "ab", "a", nil, 2}}},
		"a withdrawn key": {steps: []step{{0, false, "a", "a", nil, 1}, {refresh, false, "b", "a", nil, 2},
			{0, false, "b", "a", ErrUnclear, 2}, {every, false, "b", "a", ErrUnknown, 3}}},
		"down from the start": {steps: []step{{0, true, "a", "a", errDown, 1}, {0, false, "a", "a", errDown, 1},
			{every, false, "a", "a", nil, 2}}},
		"down for a new key": {steps: []step{{0, false, "a", "a", nil, 1}, {every, true, "ab", "b", ErrUnclear, 2},
			{0, true, "ab", "a", nil, 2}, {every, false, "ab", "b", nil, 3}}},
		"down for hours": {steps: []step{{0, false, "a", "a", nil, 1}, {keep - 1, true, "a", "a", nil, 2},
			{1, true, "a", "a", errDown, 2}, {every, false, "a", "a", nil, 3}}},
		"known for ever": {change: func(c *Config) { c.RefreshAfter, c.KeepFor = 0, 0 },
			steps: []step{{0, false, "a", "a", nil, 1}, {99 * keep, true, "a", "a", nil, 1}}},
		"a key without an ID": {steps: []step{{0, false, "a", "", ErrUnknown, 1}}},
		"nobody waits for others": {change: func(c *Config) { c.Waiting = 0 },
			steps: []step{{0, false, "a", "a", nil, 1}, {every, false, "a", "b", ErrUnknown, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			if tc.change != nil {
				s = newServer(t, tc.change)
			}
			for i, step := range tc.steps {
				s.pass(step.after)
				s.keys, s.down = nil, nil
				if step.down {
					s.down = errDown
				}
				for _, id := range strings.Split(step.keys, "") {
					s.keys = append(s.keys, key(t, id))
				}
				found, err := s.Find(t.Context(), step.find)
				s.Idle()
				if !errors.Is(err, step.want) || (err == nil) != (len(found) == 1) || s.asked != step.asked {
					t.Errorf("step %d: %v and %d keys after %d requests, want %v after %d", i, err, len(found), s.asked, step.want, step.asked)
				}
				if errors.Is(step.want, errDown) && errors.Is(err, ErrUnclear) {
					t.Errorf("step %d: %v, and no key can be used", i, err)
				}
			}
		})
	}
}

// TestReport: the log is told of an outage once in a while, however many tokens come, and of its end.
func TestReport(t *testing.T) {
	s := newServer(t)
	s.down = errDown
	const hour = int(time.Hour / every)
	for range hour {
		for n := range 10 {
			_, _ = s.Find(t.Context(), fmt.Sprint(n))
		}
		s.Idle()
		s.pass(every)
	}
	if s.asked != hour || len(s.log) != 6 || !strings.Contains(s.log[0], "cannot be read") || !strings.Contains(s.log[0], "down") {
		t.Errorf("%d requests, and these lines in an hour, want 6:\n%s", s.asked, strings.Join(s.log, "\n"))
	}
	s.down = nil
	_, _ = s.Find(t.Context(), "a")
	if len(s.log) != 7 || !strings.Contains(s.log[6], "can be read again") {
		t.Errorf("after the outage:\n%s", strings.Join(s.log, "\n"))
	}
	for range hour { // the fault comes and goes
		s.down = errDown
		s.pass(every)
		_, _ = s.Find(t.Context(), "b")
		s.down = nil
		s.pass(every)
		_, _ = s.Find(t.Context(), "b")
	}
	if got := len(s.log) - 7; got > 2*12+2 {
		t.Errorf("%d lines in two hours", got)
	}
}

// TestOneRequest: all that wait for the keys share one request, and the sender of the first may leave.
func TestOneRequest(t *testing.T) {
	asked, release := make(chan struct{}, 10), make(chan struct{})
	a := key(t, "a")
	s := newServer(t, func(c *Config) {
		c.Read = func(context.Context) ([]jose.JSONWebKey, error) {
			asked <- struct{}{}
			<-release
			return []jose.JSONWebKey{a}, nil
		}
	})
	gone, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := s.Find(gone, "a")
		first <- err
	}()
	<-asked
	leave()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
	results := make(chan error, waiting)
	for range waiting {
		go func() {
			_, err := s.Find(t.Context(), "a")
			results <- err
		}()
	}
	poll.True(t, "as many wait as may", func() bool { return len(s.waiting) == waiting })
	if _, err := s.Find(t.Context(), "a"); !errors.Is(err, errManyWaiting) || errors.Is(err, ErrUnclear) {
		t.Errorf("one more: %v", err)
	}
	close(release)
	for range waiting {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if len(asked) != 0 {
		t.Error("the server was asked twice")
	}
}

// TestJoinedRequest: the answer to a request that began before a token came may be older than the key of the token.
func TestJoinedRequest(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	s := newServer(t, func(c *Config) {
		read := c.Read
		c.Read = func(ctx context.Context) ([]jose.JSONWebKey, error) {
			close(asked)
			<-answer
			return read(ctx)
		}
	})
	began, joined := make(chan error, 1), make(chan error, 1)
	go func() { _, err := s.Find(t.Context(), "forged"); began <- err }()
	<-asked
	go func() { _, err := s.Find(t.Context(), "new"); joined <- err }()
	poll.True(t, "the second token waits", func() bool { return len(s.waiting) == 1 })
	close(answer)
	if err := <-began; !errors.Is(err, ErrUnknown) {
		t.Errorf("the token that caused the request: %v", err)
	}
	if err := <-joined; !errors.Is(err, ErrUnclear) {
		t.Errorf("the token that joined it: %v", err)
	}
}
