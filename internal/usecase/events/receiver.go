// Package events lets the events of senders such as GitHub start runs: it finds the team that wants them, checks who sent them, and hands
// what they mean to package dispatch.
package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

var (
	// ErrNotConfigured means that no events are expected there. It does not say why.
	ErrNotConfigured = errors.New("no events are expected there")
	// ErrNotVerified means that the sender is another one. What it wraps is for the operator.
	ErrNotVerified = errors.New("the event was not sent by its source")
	// ErrUnavailable means that it cannot be known at the moment.
	ErrUnavailable = errors.New("the source cannot be looked up")
)

// Config is what a Receiver needs.
type Config struct {
	Dispatcher *dispatch.Dispatcher
	Cache      client.Reader // with the indexes of index.Setup
	Live       client.Reader // of Secrets, to which teams grant access
	Formats    map[v1alpha1.EventSourceType]event.Format
	App        App
	Reports    report.Options // with which Postflight posts to code hosts
	CodeHosts  CodeHosts      // are asked about comments and pull requests

	// Used is called with each source of a verified event. It must not block.
	Used func(*v1alpha1.EventSource)

	Clock      clock.PassiveClock        // of this replica
	ServerTime func(time.Time) time.Time // converts times of Clock to the API server's
}

// App is the GitHub App of the manager.
type App struct {
	Secret func() ([]byte, error) // of its webhook; nil: it has none
	ID     int64                  // 0: the manager has no App
	Host   string                 // of its repositories, as entries of Teams name it
}

// Receiver takes events.
type Receiver struct {
	Config
	secrets *secrets
	recent  *recent
	asks    *paces // of questions to code hosts
	retorts *paces // of answers to strangers
}

// New returns a Receiver.
func New(c Config) (*Receiver, error) {
	if c.Dispatcher == nil || c.Cache == nil || c.Live == nil || c.Used == nil || c.Clock == nil || c.ServerTime == nil {
		return nil, errors.New("a receiver of events needs a dispatcher, readers, a function for used sources, and clocks")
	}
	return &Receiver{Config: c, secrets: newSecrets(c.Live, c.Clock), recent: newRecent(c.Clock),
		asks: newPaces(c.Clock, asksPerMinute/60.0, asksPerMinute), retorts: newPaces(c.Clock, strangersPerHour/3600.0, strangersAtOnce)}, nil
}

// Source is an EventSource with its team. Both objects are shared with the cache and must not be changed.
type Source struct {
	Object *v1alpha1.EventSource
	Team   *v1alpha1.Team
}

// Delivery is an event as it was received.
type Delivery struct {
	Header     event.Header
	Body       []byte
	RequestID  string
	ReceivedAt time.Time // by Clock
}

// Find returns the source of a path, or ErrNotConfigured.
func (r *Receiver) Find(ctx context.Context, namespace, name string) (Source, error) {
	source := &v1alpha1.EventSource{}
	err := r.Cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, source, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return Source{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	team, ownerErr := index.Owner(ctx, r.Cache, namespace) // also for an unknown name, which takes as many look-ups
	if ownerErr != nil {
		return Source{}, fmt.Errorf("%w: %w", ErrUnavailable, ownerErr)
	}
	_, known := r.Formats[source.Spec.Type]
	if err != nil || team == nil || !known || source.DeletionTimestamp != nil || source.Spec.Secret == nil {
		return Source{}, ErrNotConfigured
	}
	return Source{Object: source, Team: team}, nil
}

// provenFor is how long a source counts as one whose events come: longer than a week-end, or the holidays of a team.
const provenFor = 7 * 24 * time.Hour

// Proven reports whether the source has sent an event lately, to any replica.
func (r *Receiver) Proven(s Source) bool {
	last := s.Object.Status.LastEventTime
	return last != nil && r.Clock.Now().Sub(last.Time) < provenFor
}

// Ready returns nil if events of the source can be verified. Strangers may call it: the API server is asked as seldom as by Verify.
func (r *Receiver) Ready(ctx context.Context, s Source) error {
	_, err := r.secret(ctx, s, false)
	return err
}

// Verify returns nil if the source has sent the event.
func (r *Receiver) Verify(ctx context.Context, s Source, d Delivery) error {
	for _, refresh := range []bool{false, true} {
		secret, err := r.secret(ctx, s, refresh)
		if err != nil {
			return err
		}
		err = r.Formats[s.Object.Spec.Type].Verify(secret, d.Header, d.Body, r.now())
		if err == nil {
			r.Used(s.Object)
			return nil
		}
		if refresh {
			return fmt.Errorf("%w: %w", ErrNotVerified, err)
		}
	}
	return ErrNotVerified
}

func (r *Receiver) secret(ctx context.Context, s Source, refresh bool) ([]byte, error) {
	named := s.Object.Spec.Secret
	secret, err := r.secrets.get(ctx, secretKey{namespace: s.Object.Namespace, name: named.Name, key: named.Key}, refresh)
	if err == nil && r.Formats[s.Object.Spec.Type].SecretProblem(secret) != "" { // why is in the status of the EventSource
		return nil, ErrNotConfigured
	}
	return secret, err
}

// now is the time of the API server.
func (r *Receiver) now() time.Time { return r.ServerTime(r.Clock.Now()) }

const (
	recentFor            = 5 * time.Minute // how long equal events of a sender without delivery ids are dropped
	maxRecent            = 10_000          // keys that are remembered: 33 events a second
	maxRecentOfNamespace = maxRecent / 2
)

// recent remembers the keys of events of the last minutes, in one replica. Losing it can repeat only what the Trigger lets repeat.
type recent struct {
	clock clock.PassiveClock
	until *fairness.Cache[string, time.Time]
}

func newRecent(c clock.PassiveClock) *recent {
	return &recent{clock: c, until: fairness.NewCache[string, time.Time](maxRecent, maxRecentOfNamespace)}
}

func (r *recent) has(namespace, key string) bool {
	until, known := r.until.Get(namespace, key)
	return known && r.clock.Now().Before(until)
}

// add remembers an event that was taken. One that failed may come again. Events without a key are not remembered.
func (r *recent) add(namespace, key string) {
	if key != "" {
		r.until.Add(namespace, key, r.clock.Now().Add(recentFor))
	}
}
