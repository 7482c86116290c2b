package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/fairness"
)

const (
	// secretFresh is how long a Secret is not read again: strangers may cause a read by an event without a valid signature.
	secretFresh = 30 * time.Second
	// secretPause is how long it is not read again after a wrong signature, perhaps by a secret that was replaced just now, or after an error.
	secretPause = 5 * time.Second
	// secretStale is how long a known one is used while the API server is unavailable, as with API keys.
	secretStale = 10 * time.Minute
	// secretTimeout bounds a read: GitHub waits for ten seconds.
	secretTimeout = 3 * time.Second
	// maxSecrets bounds those in memory. Only secrets of EventSources get there; beyond that, they are read more often.
	maxSecrets            = 4096
	maxSecretsOfNamespace = 200
	// secretReadsPerSecond bounds the reads for a namespace, of which maxSecretsOfNamespace may come at once: forged events to so many sources
	// cause as many, each after secretPause.
	secretReadsPerSecond = 40
)

var errManyReads = errors.New("the EventSources of the namespace need more Secrets than are read for it")

type secretKey struct{ namespace, name, key string }

// secrets remembers what was read, so that a flood of forged events is none of requests to the API server.
type secrets struct {
	live  client.Reader
	clock clock.PassiveClock
	known *fairness.Cache[secretKey, *secret]
	paces *fairness.Cache[struct{}, *rate.Limiter] // one of a namespace
}

type secret struct {
	turn   chan struct{} // full while it is read, so that others wait for the answer
	value  []byte        // nil: it cannot be used
	readAt time.Time     // the last answer; zero: none
	asked  time.Time
	failed error // of the last read
}

func newSecrets(live client.Reader, c clock.PassiveClock) *secrets {
	return &secrets{
		live: live, clock: c,
		known: fairness.NewCache[secretKey, *secret](maxSecrets, maxSecretsOfNamespace),
		paces: fairness.NewCache[struct{}, *rate.Limiter](maxSecrets, 1),
	}
}

// get returns ErrNotConfigured if there is no secret that can be used. With refresh, the known secret did not verify an event.
func (s *secrets) get(ctx context.Context, key secretKey, refresh bool) ([]byte, error) {
	known := s.known.GetOrAdd(key.namespace, key, func() *secret { return &secret{turn: make(chan struct{}, 1)} })
	if err := known.wait(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { <-known.turn }()
	fresh := secretFresh
	if refresh || known.failed != nil {
		fresh = secretPause
	}
	now := s.clock.Now()
	if known.asked.IsZero() || now.Sub(known.asked) >= fresh {
		known.asked = now
		value, err := s.read(ctx, key)
		if known.failed = err; err == nil {
			known.value, known.readAt = value, now
		}
	}
	if known.failed != nil && (known.readAt.IsZero() || now.Sub(known.readAt) > secretStale) {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, known.failed)
	}
	if known.value == nil {
		return nil, ErrNotConfigured
	}
	return known.value, nil
}

// wait returns an error only if the context ends before the turn of the caller comes.
func (s *secret) wait(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *secrets) paceOf(namespace string) *rate.Limiter {
	return s.paces.GetOrAdd(namespace, struct{}{}, func() *rate.Limiter {
		return rate.NewLimiter(secretReadsPerSecond, maxSecretsOfNamespace)
	})
}

// read returns nil for a secret that cannot be used. Why is in the status of the EventSource. It continues after a sender has hung up: its
// answer is for others, too.
func (s *secrets) read(ctx context.Context, key secretKey) ([]byte, error) {
	if !s.paceOf(key.namespace).AllowN(s.clock.Now(), 1) {
		return nil, errManyReads
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), secretTimeout)
	defer cancel()
	found := &corev1.Secret{}
	err := s.live.Get(ctx, client.ObjectKey{Namespace: key.namespace, Name: key.name}, found)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines, problem := event.Secrets(found.Data[key.key])
	if problem != "" {
		return nil, nil
	}
	return []byte(strings.Join(lines, "\n")), nil
}
