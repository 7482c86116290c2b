package events

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/postflight-dev/postflight/internal/core/deployment/event"
)

// Anyone who knows a source can send events without a valid signature. These bounds keep them from filling the log.
const (
	refusalEvery      = time.Minute // the least pause between lines of a source: a person who configures it looks once in a while
	refusalsPerSecond = 10.0 / 60   // bounds the lines of all sources; refusalBurst may come at once
	refusalBurst      = 10
	refusalSources    = 1024 // whose lines are counted; for a forgotten source they start at 0, within the bound of all
)

// refusals tell the log why events are refused. Their senders do not learn it.
type refusals struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	all     *rate.Limiter
	sources *lru.Cache // *refused by source
}

// refused are the events of a source.
type refused struct {
	logged time.Time // the last line
	since  int       // events without a line since then
}

func newRefusals(c clock.PassiveClock) *refusals {
	return &refusals{clock: c, all: rate.NewLimiter(refusalsPerSecond, refusalBurst), sources: lru.New(refusalSources)}
}

// log is for the operator: why an event is refused is a fixed text, which holds nothing that was sent.
func (r *refusals) log(ctx context.Context, source string, err error) {
	unlogged, due := r.take(source)
	if !due {
		return
	}
	reason := "the signature is not valid"
	if invalid, ok := errors.AsType[*event.VerifyError](err); ok {
		reason = invalid.Reason
	}
	logr.FromContextOrDiscard(ctx).Info("an event was refused", "source", source, "reason", reason, "refusedBefore", unlogged)
}

// take reports whether a line is due, and how many events had none since the last one.
func (r *refusals) take(source string) (unlogged int, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.sources.Get(source)
	if !ok {
		known = &refused{}
		r.sources.Add(source, known)
	}
	events, now := known.(*refused), r.clock.Now()
	if !events.logged.IsZero() && now.Sub(events.logged) < refusalEvery || !r.all.AllowN(now, 1) {
		events.since++
		return 0, false
	}
	unlogged = events.since
	events.logged, events.since = now, 0
	return unlogged, true
}
