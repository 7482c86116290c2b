package deploymentgate

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
)

// memory is what a leader knows of the code hosts. Losing it costs requests.
type memory struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*remembered
}

type remembered struct {
	pending  *report.Pending
	at       time.Time // of pending
	failures int       // in a row
	until    time.Time // nothing is sent earlier
	gate     int64     // the generation of the gate that failed
}

func (m *memory) of(key types.NamespacedName) *remembered {
	if m.byKey == nil {
		m.byKey = map[types.NamespacedName]*remembered{}
	}
	if m.byKey[key] == nil {
		m.byKey[key] = &remembered{}
	}
	return m.byKey[key]
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, key)
}

// pending returns what the host has said lately; nil: nothing.
func (m *memory) pending(key types.NamespacedName, now time.Time) *report.Pending {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(key)
	if known.pending == nil || !known.pending.Waiting || now.Sub(known.at) >= gate.PendingFor {
		return nil
	}
	return known.pending
}

func (m *memory) answered(key types.NamespacedName, p report.Pending, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(key)
	known.pending, known.at = &p, now
}

// outdated is for an answer that something contradicts.
func (m *memory) outdated(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(key).pending = nil
}

// pause returns how long nothing is sent, unless the gate has changed.
func (m *memory) pause(key types.NamespacedName, generation int64, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(key)
	if known.gate != generation {
		return 0
	}
	return max(0, known.until.Sub(now))
}

// failed returns when to try again.
func (m *memory) failed(key types.NamespacedName, generation int64, e *report.Error, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(key)
	known.failures++
	after := gate.RetryAfter(e, known.failures)
	known.until, known.gate = now.Add(after), generation
	return after
}

func (m *memory) succeeded(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(key)
	known.failures, known.until = 0, time.Time{}
}

// healthy reports whether the last request did not fail.
func (m *memory) healthy(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(key).failures == 0
}
