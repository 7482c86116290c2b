package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/postflight-dev/postflight/internal/server/pages"
	"github.com/postflight-dev/postflight/internal/server/signin"
)

const (
	// endedPrefix begins the entries of the Secret for what has ended. The rest is the key of a signin.End, and the
	// value its time.
	endedPrefix = "ended."

	// maxEnded bounds these entries, to 100 KiB of the Secret. Beyond it the oldest are dropped: the provider does not
	// accept the tokens of their sessions any more, of which it is asked within seconds.
	maxEnded = 1000
)

// End ends sessions on every replica.
func (s *sessionSecret) End(ctx context.Context, end signin.End) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		secret := &corev1.Secret{}
		err := s.reader.Get(ctx, s.name, secret)
		if isMissing(err) {
			s.endHere(end)
			return nil
		}
		if err != nil {
			return err
		}
		if at, known := endedIn(secret)[end.Key]; known && !at.Before(end.At) {
			return nil // the provider says it again
		}
		secret.Data = withEnd(secret.Data, end, s.clock.Now())
		if err = s.writer.Update(ctx, secret); apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			return err
		}
		s.observe(secret)
		return nil
	}
}

// endHere ends sessions without a Secret, where they belong to this replica alone.
func (s *sessionSecret) endHere(end signin.End) {
	now := *s.state.Load()
	now.ended = maps.Clone(now.ended)
	if now.ended == nil {
		now.ended = map[string]time.Time{}
	}
	now.ended[end.Key] = end.At
	s.state.Store(&now)
}

// Ended reports whether a session that began at a time, and that any of the keys ends, has ended.
func (s *sessionSecret) Ended(keys []string, begun time.Time) bool {
	ended := s.state.Load().ended
	return slices.ContainsFunc(keys, func(key string) bool {
		at, known := ended[key]
		return known && !begun.After(at)
	})
}

// endedIn is what has ended, as the Secret says.
func endedIn(secret *corev1.Secret) map[string]time.Time {
	all := map[string]time.Time{}
	for name, value := range secret.Data {
		key, isEnd := strings.CutPrefix(name, endedPrefix)
		if at, err := time.Parse(time.RFC3339, string(value)); isEnd && err == nil {
			all[key] = at
		}
	}
	return all
}

// withEnd is the Secret with one more entry, and without those that no session can be as old as.
func withEnd(data map[string][]byte, end signin.End, now time.Time) map[string][]byte {
	data = maps.Clone(data)
	if data == nil {
		data = map[string][]byte{}
	}
	ended := endedIn(&corev1.Secret{Data: data})
	oldest := slices.SortedFunc(maps.Keys(ended), func(a, b string) int { return ended[a].Compare(ended[b]) })
	for i, key := range oldest {
		if tooMany := len(oldest)-i >= maxEnded; tooMany || now.Sub(ended[key]) > sessionSlack+pages.DefaultLimits().SessionFor {
			delete(data, endedPrefix+key)
		}
	}
	data[endedPrefix+end.Key] = []byte(end.At.UTC().Format(time.RFC3339))
	return data
}

// sessionSlack is how long after somebody was asked for their password a session may start, and how much the clock of
// a provider may differ.
const sessionSlack = time.Hour
