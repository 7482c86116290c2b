package signin

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	endedPrefix = "ended." // starts the entries of the Secret for Ends: the key of one, and its time as the value
	// maxEnded bounds these entries to 100 KiB. Older ones are dropped: the provider, asked within seconds, refuses their tokens.
	maxEnded = 1000
	// SessionFor is how long a person stays signed in: a day of work.
	SessionFor = 12 * time.Hour

	// sessionSlack is how late a session may start after the password, and how far a provider's clock may differ.
	sessionSlack = time.Hour
)

// End ends sessions on every replica.
func (s *Sessions) End(ctx context.Context, end End) error {
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

// endHere ends sessions of this replica only, because without a Secret none are shared.
func (s *Sessions) endHere(end End) {
	now := *s.state.Load()
	now.ended = maps.Clone(now.ended)
	if now.ended == nil {
		now.ended = map[string]time.Time{}
	}
	now.ended[end.Key] = end.At
	s.state.Store(&now)
}

// hasEnded reports whether a session that began at a time has ended by any of its keys.
func (s *Sessions) hasEnded(keys []string, begun time.Time) bool {
	ended := s.state.Load().ended
	return slices.ContainsFunc(keys, func(key string) bool {
		at, known := ended[key]
		return known && !begun.After(at)
	})
}

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

// withEnd adds an entry, and drops those older than any session.
func withEnd(data map[string][]byte, end End, now time.Time) map[string][]byte {
	data = maps.Clone(data)
	if data == nil {
		data = map[string][]byte{}
	}
	ended := endedIn(&corev1.Secret{Data: data})
	oldest := slices.SortedFunc(maps.Keys(ended), func(a, b string) int { return ended[a].Compare(ended[b]) })
	for i, key := range oldest {
		if tooMany := len(oldest)-i >= maxEnded; tooMany || now.Sub(ended[key]) > sessionSlack+SessionFor {
			delete(data, endedPrefix+key)
		}
	}
	data[endedPrefix+end.Key] = []byte(end.At.UTC().Format(time.RFC3339))
	return data
}
