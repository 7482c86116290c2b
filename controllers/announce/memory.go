package announce

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
	"github.com/postflight-dev/postflight/internal/kube/retry"
)

// announceMemory holds pauses of receivers and deliveries not stored yet. Losing it repeats some requests.
type announceMemory struct {
	mu   sync.Mutex
	runs map[types.NamespacedName]map[string]attempts // by receiver
}

type attempts struct {
	failures int       // in a row
	until    time.Time // the receiver is left alone
	config   string    // with which it failed: another one is tried at once
	accepted string    // the id of an event that is not stored; empty: none
}

func (m *announceMemory) waits(run types.NamespacedName, config string) map[string]time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]time.Time{}
	for receiver, a := range m.runs[run] {
		if a.config == config && a.failures > 0 {
			all[receiver] = a.until
		}
	}
	return all
}

func (m *announceMemory) failed(run types.NamespacedName, receiver, config string, kind report.Kind, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.runs[run][receiver]
	if a.config != config {
		a = attempts{config: config}
	}
	a.failures++
	a.until = now.Add(wait.Jitter(announce.RetryAfter(kind, a.failures), retry.Spread))
	m.set(run, receiver, a)
}

// set is called with the lock held.
func (m *announceMemory) set(run types.NamespacedName, receiver string, a attempts) {
	if m.runs == nil {
		m.runs = map[types.NamespacedName]map[string]attempts{}
	}
	if m.runs[run] == nil {
		m.runs[run] = map[string]attempts{}
	}
	m.runs[run][receiver] = a
}

func (m *announceMemory) accept(run types.NamespacedName, receiver, event string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(run, receiver, attempts{accepted: event})
}

func (m *announceMemory) accepted(run types.NamespacedName, receiver string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs[run][receiver].accepted
}

func (m *announceMemory) stored(run types.NamespacedName, receiver string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.runs[run], receiver); len(m.runs[run]) == 0 {
		delete(m.runs, run)
	}
}

func (m *announceMemory) forget(run types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, run)
}

type teamSlots struct {
	mu       sync.Mutex
	inFlight map[string]int // by namespace
}

func (l *teamSlots) take(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight == nil {
		l.inFlight = map[string]int{}
	}
	if l.inFlight[namespace] >= perTeam {
		return false
	}
	l.inFlight[namespace]++
	return true
}

func (l *teamSlots) give(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight[namespace]--; l.inFlight[namespace] == 0 {
		delete(l.inFlight, namespace)
	}
}
